"""One backend at one release: facts merged from changes and parents, checks in the engine's order and words."""

from __future__ import annotations

from typing import Any

import pytest

from compatcheck.matrix.load import LoadedMatrix
from compatcheck.resolve.backend import in_release, merge
from compatcheck.resolve.configuration import Configuration
from compatcheck.resolve.normalise import normalise

from .conftest import Small, codes, judge


@pytest.mark.parametrize(
    ("since", "until", "release", "answer"),
    [
        ("0.2.0", None, "0.2.0", True),
        ("0.2.0", None, "0.1.9", False),
        ("0.2.0", "0.3.0", "0.3.0", False),
        ("0.2.0", "0.10.0", "0.9.0", True),
        ("0", "0.3.0", "0.2.9", True),
    ],
)
def test_until_is_the_first_release_without(since: str, until: str | None, release: str, answer: bool) -> None:
    assert in_release(since, until, release) is answer


def test_changes_replace_and_parents_fill(small: Small) -> None:
    engine = small().matrix.engines["vllm"]
    for release, sinks in (("0.1.0", None), ("0.2.0", {"sm": ["9.x", "12.0"]}), ("0.3.0", True)):
        assert merge(engine.backends, "FLASH_ATTN", release, engine.defaults)["sinks"] == sinks
    inherited = merge(engine.backends, "FLASHINFER", "0.2.0", engine.defaults)
    own = merge(engine.backends, "FLASH_ATTN", "0.2.0", engine.defaults)
    assert inherited["head_sizes"] == own["head_sizes"]
    assert inherited["sinks"] == own["sinks"]
    assert inherited["dtypes"] == engine.defaults.dtypes


def asked(loaded: LoadedMatrix, name: str, release: str = "0.33.0", **fields: Any) -> tuple[list[str], set[str]]:
    """Return the words of a backend's refusals, and what is missing."""
    engine = loaded.resolver.engine("vllm", release)
    facts = normalise(loaded.matrix, Configuration(engine_version=release, **fields)).facts
    judgement = engine.judge(name, facts)
    return list(judgement.words), set(judgement.missing)


def test_every_refusal_in_the_engine_s_order(loaded: LoadedMatrix) -> None:
    words, missing = asked(
        loaded,
        "FLASHINFER",
        sm="7.5",
        head_size=80,
        dtype="float32",
        kv_cache_dtype="fp8_inc",
        block_size=8,
        use_mm_prefix=True,
        has_sink=True,
        use_batch_invariant=True,
    )
    assert words == [
        "head_size not supported",
        "dtype not supported",
        "kv_cache_dtype not supported",
        "block_size not supported",
        "partial multimodal token full attention not supported",
        "attention sinks not supported",
        "compute capability not supported",
        "batch invariance not supported",
    ]
    assert missing == set()


def test_block_sizes_are_multiples_or_exact(loaded: LoadedMatrix) -> None:
    for name, sm, size, accepted in (
        ("FLASHINFER", "9.0", 48, True),
        ("FLASHINFER", "9.0", 8, False),
        ("B12X", "12.0", 64, True),
        ("B12X", "12.0", 192, False),
    ):
        words, _ = asked(loaded, name, sm=sm, head_size=128, block_size=size)
        assert ("block_size not supported" not in words) is accepted
    assert asked(loaded, "FLASHINFER", sm="9.0", head_size=128) == ([], set())


def test_a_joint_rule_speaks_only_if_no_earlier_one_does(loaded: LoadedMatrix) -> None:
    both: dict[str, Any] = {"sm": "9.0", "kv_cache_dtype": "nvfp4", "head_size": 64, "has_sink": True}
    words, _ = asked(loaded, "FLASHINFER", **both)
    assert words == ["fa2 prefill misreads an NVFP4 KV cache at head_size 64"]
    words, _ = asked(loaded, "FLASHINFER", **both | {"head_size": 128})
    assert words == ["the sink prefill wrapper cannot read an NVFP4 KV cache"]


def test_what_is_missing_is_named(loaded: LoadedMatrix) -> None:
    assert asked(loaded, "FLASHINFER") == ([], {"head_size", "sm"})
    assert asked(loaded, "FLASHINFER", sm="9.0", kv_cache_dtype="fp8_inc") == (
        ["kv_cache_dtype not supported"],
        {"head_size"},
    )
    assert asked(loaded, "FLASHINFER_MLA", sm="10.0", head_size=576, use_mla=True) == ([], {"qk_nope_head_dim"})


def test_a_composite_asks_its_members(loaded: LoadedMatrix) -> None:
    assert asked(loaded, "TRITON_FLASH_ATTN", sm="9.0", head_size=256) == ([], set())
    words, _ = asked(loaded, "TRITON_FLASH_ATTN", sm="9.0", head_size=256, kv_cache_dtype="fp8_e5m2")
    assert words[0] == "kv_cache_dtype not supported"
    words, _ = asked(loaded, "TRITON_FLASH_ATTN", sm="8.0", head_size=256)
    assert "compute capability not supported" in words


def test_a_parent_s_change_reaches_the_child(small: Small) -> None:
    loaded = small()
    verdict = judge(loaded, engine_version="0.1.0", sm="9.0", backend="FLASHINFER", head_size=100)
    assert codes(verdict) == ["selector-head-size"]
    assert verdict.engine_reasons == ("head_size not supported",)


@pytest.mark.parametrize(
    ("backend", "sm", "block", "page"),
    [
        ("FLASHINFER", "9.0", None, None),
        ("FLASHINFER", "9.0", 64, 64),
        ("FLASHINFER", "9.0", 48, 16),
        ("FLASHINFER", "10.0", 256, 64),
        ("FLASHMLA", "9.0", 256, 64),
        ("CUTLASS_MLA", "10.0", 256, 128),
        ("B12X", "12.0", 128, 128),
        ("FLASHMLA_SPARSE_DSV41", "9.0", 128, 64),
        ("FLASHMLA_SPARSE_DSV41", "10.0", 128, 128),
    ],
)
def test_blocks_are_split_into_pages_that_the_kernels_take(
    backend: str, sm: str, block: int | None, page: int | None, loaded: LoadedMatrix
) -> None:
    facts = normalise(loaded.matrix, Configuration(backend=backend, sm=sm, block_size=block)).facts
    assert loaded.resolver.engine("vllm", "0.33.0").program(backend).pages.of(facts) == page
