"""What works instead: fewest changes first, each judged by the same resolver, nothing that changes the model or GPU."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from compatcheck.matrix.load import LoadedMatrix
from compatcheck.resolve.alternatives import LIMIT
from compatcheck.resolve.configuration import Configuration
from compatcheck.resolve.normalise import normalise
from compatcheck.resolve.verdict import Verdict

from .conftest import Small

ASKED: list[dict[str, Any]] = [
    {"sm": "12.0", "engine_version": "0.25.1", "backend": "FLASHINFER", "kv_cache_dtype": "nvfp4", "head_size": 128},
    {
        "sm": "9.0",
        "engine_version": "0.33.0",
        "flashinfer_version": "0.6.14",
        "kv_cache_dtype": "nvfp4",
        "head_size": 128,
    },
    {"sm": "8.0", "engine_version": "0.33.0", "backend": "FLASH_ATTN", "kv_cache_dtype": "fp8", "head_size": 128},
    {
        "sm": "10.0",
        "engine_version": "0.33.0",
        "kv_cache_dtype": "nvfp4",
        "kv_lora_rank": 512,
        "qk_nope_head_dim": 128,
        "qk_rope_head_dim": 64,
        "v_head_dim": 128,
        "num_qo_heads": 128,
    },
    {"sm": "12.1", "engine_version": "0.33.0", "backend": "FLASHINFER", "kv_cache_dtype": "fp8_e5m2", "head_size": 128},
]

SPARSE_MLA: dict[str, Any] = {
    "sm": "9.0",
    "head_size": 576,
    "kv_lora_rank": 512,
    "qk_nope_head_dim": 128,
    "qk_rope_head_dim": 64,
    "v_head_dim": 128,
    "num_qo_heads": 16,
    "index_topk": 2048,
    "use_sparse": True,
}


def resolve(loaded: LoadedMatrix, fields: dict[str, Any]) -> Verdict:
    verdict: Verdict = loaded.resolver.resolve(Configuration(**fields))
    return verdict


@pytest.mark.parametrize("fields", ASKED, ids=lambda fields: f"{fields['sm']}-{fields['kv_cache_dtype']}")
def test_each_works(loaded: LoadedMatrix, fields: dict[str, Any]) -> None:
    found = resolve(loaded, fields).alternatives
    assert 1 <= len(found) <= LIMIT
    changed = [len(a.changes) for a in found]
    assert changed == sorted(changed)
    for alternative in found:
        assert alternative.changes.keys() <= {
            "backend",
            "kv_cache_dtype",
            "dtype",
            "engine_version",
            "flashinfer_version",
        }
        changes = dict(alternative.changes)
        if "engine_version" in changes:
            changes.setdefault("flashinfer_version", None)  # a release comes with its own
        again = loaded.resolver.judge(
            normalise(loaded.matrix, msgspec.structs.replace(Configuration(**fields), **changes))
        )
        assert again.verdict == alternative.verdict == "supported"
        assert again.selected == alternative.selected


def test_no_change_is_offered_twice(loaded: LoadedMatrix) -> None:
    for fields in ASKED:
        found = [frozenset(a.changes) for a in resolve(loaded, fields).alternatives]
        assert len(set(found)) == len(found)
        assert not [(one, two) for one in found for two in found if one < two]


def test_a_release_is_offered_with_its_flashinfer(loaded: LoadedMatrix) -> None:
    found = resolve(loaded, ASKED[0] | {"flashinfer_version": "0.6.13"}).alternatives
    newer = next(a for a in found if "engine_version" in a.changes)
    assert newer.changes == {"engine_version": "0.32.0"}
    assert newer.note == "with FlashInfer 0.7.0.post1, its own pin"


def test_what_works_needs_none(loaded: LoadedMatrix) -> None:
    assert resolve(loaded, {"sm": "9.0", "head_size": 128}).alternatives == ()


def test_a_missing_gpu_gives_none(loaded: LoadedMatrix) -> None:
    answer = resolve(loaded, {"backend": "FLASHINFER", "head_size": 128})
    assert (answer.verdict, answer.alternatives) == ("unknown", ())


def test_nothing_works(small: Small) -> None:
    assert resolve(small(), {"sm": "8.0", "head_size": 7}).alternatives == ()


@pytest.mark.parametrize(
    ("fields", "changes"),
    [
        ({"sm": "9.0", "dtype": "float16", "kv_cache_dtype": "bfloat16"}, {"kv_cache_dtype": "auto"}),
        ({"sm": "9.0", "kv_cache_dtype": "float16"}, {"kv_cache_dtype": "auto"}),
        (SPARSE_MLA | {"backend": "FLASHMLA_SPARSE", "kv_cache_dtype": "fp8_e4m3"}, {"kv_cache_dtype": "fp8"}),
        ({"sm": "7.5", "dtype": "bfloat16"}, {"dtype": "float16"}),
        ({"sm": "9.0", "block_size": 20}, {"block_size": None}),
        (
            {"sm": "9.0", "backend": "FLASH_ATTN", "kv_cache_dtype": "fp8", "flash_attn_version": 2},
            {"flash_attn_version": None},
        ),
        ({"sm": "9.0", "dtype": "float32", "backend": "FLASHINFER"}, {"dtype": "bfloat16"}),
    ],
)
def test_the_nearest_change_is_among_them(
    loaded: LoadedMatrix, fields: dict[str, Any], changes: dict[str, Any]
) -> None:
    answer = resolve(loaded, {"head_size": 128} | fields)
    assert answer.verdict in ("unsupported", "degraded")
    assert changes in [alternative.changes for alternative in answer.alternatives]
