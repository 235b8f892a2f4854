"""The one resolver: no fact filled in later turns its answer round, and nothing outside the configuration moves it."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from compatcheck.matrix.load import LoadedMatrix
from compatcheck.resolve.configuration import Configuration
from compatcheck.resolve.normalise import normalise
from compatcheck.resolve.verdict import BITES_ORDER

from .conftest import Small, codes, judge

SMS = ("7.5", "8.0", "8.9", "9.0", "10.0", "10.3", "11.0", "12.0", "12.1")
RELEASES = ("0.18.1", "0.20.2", "0.22.1", "0.24.0", "0.25.1", "0.28.0", "0.30.0", "0.31.0", "0.32.0", "0.33.0")
KV = ("auto", "bfloat16", "fp8", "fp8_e5m2", "fp8_ds_mla", "nvfp4", "nvfp4_4over6", "nvfp4_ds_mla")
PLAIN = (None, "FLASHINFER", "FLASH_ATTN", "TRITON_ATTN", "FLEX_ATTENTION", "B12X")
MLA = (None, "TRITON_MLA", "FLASHMLA", "FLASHINFER_MLA", "FLASHMLA_SPARSE", "FLASHINFER_MLA_SPARSE_SM120")
FLAGS = (
    "use_sparse",
    "has_sink",
    "use_mm_prefix",
    "use_non_causal",
    "use_dcp",
    "use_batch_invariant",
    "use_kv_connector",
)
MISSABLE = (
    "sm",
    "head_size",
    "num_qo_heads",
    "num_kv_heads",
    "kv_lora_rank",
    "qk_nope_head_dim",
    "qk_rope_head_dim",
    "v_head_dim",
)
"""Fields whose absence is a missing fact; every other one has a default, which is an answer."""


def pick(*values: Any) -> st.SearchStrategy[Any]:
    return st.sampled_from(values)


@st.composite
def complete(draw: st.DrawFn) -> dict[str, Any]:
    """A configuration with every fact that the matrix may ask for."""
    mla = draw(st.booleans())
    rope = draw(pick(64, 64, 64, 0))
    fields: dict[str, Any] = {
        "sm": draw(pick(*SMS)),
        "engine_version": draw(pick(*RELEASES)),
        "flashinfer_version": draw(pick(None, "0.6.13", "0.6.14", "0.6.14.dev20260601", "0.6.15", "0.7.1", "0.7.4")),
        "backend": draw(pick(*(MLA if mla else PLAIN))),
        "kv_cache_dtype": draw(pick(*KV)),
        "dtype": draw(pick("bfloat16", "bfloat16", "float16")),
        "cubins_available": draw(pick(True, True, False)),
        "use_mla": mla,
        "head_size": 512 + rope if mla else draw(pick(64, 80, 128, 128, 256, 512)),
        "num_qo_heads": draw(pick(8, 16, 32, 128)),
        "num_kv_heads": draw(pick(1, 8)),
        "kv_lora_rank": 512,
        "qk_nope_head_dim": draw(pick(128, 128, 192)),
        "qk_rope_head_dim": rope,
        "v_head_dim": 128,
        "index_topk": draw(pick(None, 2048)),
        "sliding_window": draw(pick(None, None, 4096)),
        "block_size": draw(pick(None, 16, 64)),
        "slot_mapping_helpers": draw(pick(None, None, True, False)),
    }
    fields |= {flag: draw(pick(False, False, False, False, True)) for flag in FLAGS}
    return {name: value for name, value in fields.items() if value is not None}


@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(full=complete(), left_out=st.sets(st.sampled_from(MISSABLE), min_size=1))
def test_filling_in_a_missing_fact_never_turns_an_answer_round(
    loaded: LoadedMatrix, full: dict[str, Any], left_out: set[str]
) -> None:
    whole = judge(loaded, **full)
    part = judge(loaded, **{name: value for name, value in full.items() if name not in left_out})
    if part.verdict == "unsupported":
        assert whole.verdict == "unsupported"
        lost = set(codes(part)) - set(codes(whole))
        assert not {
            f.code for f in part.findings if f.code in lost and f.effect == "unsupported" and f.bites == "config"
        }
    elif part.verdict in ("supported", "degraded"):
        assert whole.verdict == part.verdict
    else:
        assert part.missing or part.untested
        assert set(part.missing) <= left_out | {"slot_mapping_helpers"}


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(full=complete())
def test_every_answer_is_whole(loaded: LoadedMatrix, full: dict[str, Any]) -> None:
    answer = judge(loaded, **full)
    refusals = [f for f in answer.findings if f.effect == "unsupported"]
    order = {"unsupported": 0, "degraded": 1, "note": 2}
    ranks = [(order[f.effect], BITES_ORDER.index(f.bites)) for f in answer.findings]
    assert ranks == sorted(ranks)
    assert answer.fails_at == (refusals[0].bites if refusals else None)
    if answer.verdict == "supported":
        assert not [f for f in answer.findings if f.effect != "note"]
        assert answer.engine_accepts is True
        assert answer.selected is not None
    if answer.verdict == "unsupported":
        assert refusals
    if answer.engine_accepts is False:
        assert answer.selected is None
    if answer.candidates is not None and answer.selected is not None:
        assert answer.selected in answer.candidates
        assert answer.selected not in (answer.rejected or {})
    for finding in answer.findings:
        assert finding.message
        assert finding.refuser
    assert msgspec.json.decode(msgspec.json.encode(answer), type=type(answer)) is not None


DEEPSEEK = {
    "use_mla": True,
    "head_size": 576,
    "kv_lora_rank": 512,
    "qk_nope_head_dim": 128,
    "qk_rope_head_dim": 64,
    "v_head_dim": 128,
    "num_qo_heads": 128,
    "num_kv_heads": 1,
}
TOKENSPEED = {"backend": "TOKENSPEED_MLA", "sm": "10.0", "kv_cache_dtype": "fp8"} | DEEPSEEK
SPARSE = {
    "backend": "FLASHINFER_MLA_SPARSE_SM90",
    "sm": "9.0",
    "use_sparse": True,
    "engine_version": "0.33.0",
} | DEEPSEEK


@pytest.mark.parametrize(
    ("field", "asked"),
    [
        ("sm", {"backend": "FLASHINFER", "head_size": 128}),
        ("head_size", {"backend": "FLASHINFER", "sm": "9.0"}),
        ("qk_nope_head_dim", {"backend": "FLASHINFER_MLA", "sm": "10.0"} | DEEPSEEK),
        ("qk_rope_head_dim", TOKENSPEED),
        ("v_head_dim", TOKENSPEED),
        ("kv_lora_rank", SPARSE),
        ("num_qo_heads", {"sm": "10.0", "use_sparse": True, "index_topk": 2048} | DEEPSEEK),
    ],
)
def test_what_is_missing_is_named(loaded: LoadedMatrix, field: str, asked: dict[str, Any]) -> None:
    answer = judge(loaded, **{name: value for name, value in asked.items() if name != field})
    assert (answer.verdict, answer.missing) == ("unknown", (field,))


def test_what_decides_nothing_is_not_missing(loaded: LoadedMatrix) -> None:
    """FLEX_ATTENTION takes every head size."""
    assert judge(loaded, backend="FLEX_ATTENTION", sm="9.0").verdict == "supported"


def test_the_resolver_changes_nothing(loaded: LoadedMatrix) -> None:
    given = Configuration(sm="9.0", backend="FLASHINFER", kv_cache_dtype="fp8_e5m2", head_size=128)
    first = loaded.resolver.resolve(given)
    judge(loaded, sm="12.0", kv_cache_dtype="nvfp4")
    assert loaded.resolver.resolve(given) == first


def test_untested_is_unknown_and_says_what(small: Small) -> None:
    loaded = small()
    answer = judge(loaded, engine_version="0.2.0", sm="12.0", head_size=128, backend="FLASH_ATTN")
    assert answer.verdict == "unknown"
    assert answer.missing == ()
    assert answer.untested == "the matrix does not state that flashinfer.fa2.prefill runs with sm=12.0"


def test_a_release_without_the_backend_or_the_dtype(loaded: LoadedMatrix) -> None:
    answer = judge(
        loaded, engine_version="0.25.1", sm="12.0", backend="B12X", kv_cache_dtype="nvfp4_ds_mla", head_size=128
    )
    assert answer.verdict == "unsupported"
    assert answer.fails_at == "config"
    assert {"backend-not-in-release", "kv-cache-dtype-not-in-release"} <= set(codes(answer))
    said = next(f for f in answer.findings if f.code == "kv-cache-dtype-not-in-release")
    assert "It is accepted since 0.30.0." in said.message


def test_the_mla_prefill_pick_is_told_apart(loaded: LoadedMatrix) -> None:
    dimensions = {
        "kv_lora_rank": 512,
        "qk_nope_head_dim": 128,
        "qk_rope_head_dim": 64,
        "v_head_dim": 128,
        "num_qo_heads": 128,
    }
    answer = judge(loaded, engine_version="0.33.0", sm="9.0", **dimensions)
    assert answer.mla_prefill is not None
    assert answer.mla_prefill.selected == "FLASH_ATTN"
    assert judge(loaded, engine_version="0.33.0", sm="9.0", head_size=128).mla_prefill is None


def test_nothing_takes_it(loaded: LoadedMatrix) -> None:
    answer = judge(loaded, engine_version="0.33.0", sm="9.0", head_size=128, kv_cache_dtype="fp8_inc")
    assert (answer.verdict, answer.engine_accepts, answer.candidates) == ("unsupported", False, ())
    assert codes(answer)[0] == "no-valid-backend"
    assert set(answer.rejected or {}) == {"FLASH_ATTN", "FLASHINFER", "TRITON_ATTN", "FLEX_ATTENTION", "TURBOQUANT"}


def test_facts_are_those_of_the_backend_that_is_picked(loaded: LoadedMatrix) -> None:
    """Rules about FLASHINFER speak where automatic selection picks it."""
    forced = judge(
        loaded, engine_version="0.33.0", sm="10.0", head_size=128, kv_cache_dtype="nvfp4", backend="FLASHINFER"
    )
    picked = judge(loaded, engine_version="0.33.0", sm="10.0", head_size=128, kv_cache_dtype="nvfp4")
    assert picked.selected == "FLASHINFER"
    assert codes(picked) == codes(forced)
    assert picked.route == forced.route


def test_an_unknown_engine_version_answers_all_the_same(loaded: LoadedMatrix) -> None:
    normal = normalise(loaded.matrix, Configuration(engine_version="0.99.0", sm="9.0", head_size=128))
    answer = loaded.resolver.judge(normal)
    assert answer.verdict == "supported"
    assert answer.answered_as.startswith("answered as vLLM 0.33.0")


@pytest.mark.parametrize(
    ("backend", "sm", "fields"),
    [
        ("FLASHINFER", "9.0", {"head_size": 128, "num_qo_heads": 32, "num_kv_heads": 8}),
        ("FLASHINFER", "10.0", {"head_size": 128, "num_qo_heads": 32, "num_kv_heads": 8}),
        ("FLASHMLA", "9.0", DEEPSEEK),
        ("CUTLASS_MLA", "10.0", DEEPSEEK),
    ],
)
def test_a_block_of_several_pages_runs(backend: str, sm: str, fields: dict[str, Any], loaded: LoadedMatrix) -> None:
    for block in (128, 256):
        given = Configuration(backend=backend, sm=sm, block_size=block, engine_version="0.33.0", **fields)
        verdict = loaded.resolver.judge(normalise(loaded.matrix, given))
        assert verdict.verdict == "supported", (block, verdict.untested, verdict.missing)


def test_a_backend_that_the_model_picks_itself(loaded: LoadedMatrix) -> None:
    """The selector would refuse, and says so; the verdict is of what the model does."""
    given = Configuration(
        backend="CUTLASS_MSA", sm="10.0", kv_cache_dtype="auto", head_size=128, use_sparse=True, engine_version="0.33.0"
    )
    verdict = loaded.resolver.judge(normalise(loaded.matrix, given))
    assert (verdict.verdict, verdict.engine_accepts, verdict.selected) == ("supported", False, "CUTLASS_MSA")
    assert verdict.engine_reasons == ("kv_cache_dtype not supported",)
    assert {"selector-not-asked", "vllm-msa-cutlass-not-used"} == set(codes(verdict))
    asked = loaded.resolver.judge(normalise(loaded.matrix, msgspec.structs.replace(given, use_sparse=False)))
    assert (asked.verdict, asked.fails_at) == ("unsupported", "selection")
    assert "selector-not-asked" not in codes(asked)


def test_what_nobody_takes_needs_no_gpu_to_tell(loaded: LoadedMatrix) -> None:
    answer = judge(loaded, kv_cache_dtype="octave_k3v3", head_size=128)
    assert (answer.verdict, answer.selected, answer.missing) == ("unsupported", None, ())
    assert answer.rejected is not None
    assert not any("MLA" in name for name in answer.rejected)
    assert "None" not in answer.findings[0].message
