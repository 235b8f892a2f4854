"""Models that do not ask the selector: what they answer themselves is a note, what nobody offers stays refused."""

from __future__ import annotations

from typing import Any

import pytest

from compatcheck.matrix.load import LoadedMatrix
from compatcheck.resolve.configuration import Configuration
from compatcheck.resolve.verdict import Verdict

V32 = {"head_size": 576, "qk_nope_head_dim": 128, "v_head_dim": 128, "index_topk": 2048}
V4 = {"head_size": 512, "qk_nope_head_dim": 448, "v_head_dim": 512, "index_topk": 512}
SPARSE = {"use_mla": True, "use_sparse": True, "kv_lora_rank": 512, "qk_rope_head_dim": 64, "num_kv_heads": 1}
M3 = {"use_sparse": True, "head_size": 128, "num_qo_heads": 64, "num_kv_heads": 4, "sm": "10.0"}


def ask(loaded: LoadedMatrix, **fields: Any) -> Verdict:
    verdict: Verdict = loaded.resolver.resolve(
        Configuration(**{"engine_version": "0.33.0", **fields}), alternatives=False
    )
    return verdict


def codes(verdict: Verdict) -> list[str]:
    return [finding.code for finding in verdict.findings]


@pytest.mark.parametrize("backend", ["FLASHINFER_MLA_SPARSE_DSV4", "FLASHINFER_MLA_SPARSE_DSV41"])
def test_another_model_asks_the_selector(loaded: LoadedMatrix, backend: str) -> None:
    asked = {"backend": backend, "sm": "12.0", "kv_cache_dtype": "auto", "num_qo_heads": 64, **SPARSE}
    other = ask(loaded, **asked, **V32)
    assert (other.verdict, "selector-not-asked" in codes(other)) == ("unsupported", False)
    own = ask(loaded, **asked, **V4, model_type="deepseek_v41")
    assert (own.verdict, own.engine_accepts, codes(own)) == ("supported", False, ["selector-not-asked"])


@pytest.mark.parametrize(
    ("feature", "code"),
    [
        ({"has_sink": True}, "selector-has-sink"),
        ({"use_mm_prefix": True}, "selector-use-mm-prefix"),
        ({"sliding_window": 4096}, "selector-sliding-window"),
        ({"use_non_causal": True}, "selector-use-non-causal"),
        ({"use_batch_invariant": True}, "selector-use-batch-invariant"),
        ({"use_dcp": True}, "vllm-msa-dcp"),
        ({"use_pcp": True}, "vllm-msa-pcp"),
    ],
)
@pytest.mark.parametrize("kv", ["auto", "bfloat16"])
def test_what_nobody_offers_stays_refused(loaded: LoadedMatrix, kv: str, feature: dict[str, Any], code: str) -> None:
    plain = ask(loaded, backend="MINIMAX_M3_SPARSE", kv_cache_dtype=kv, **M3)
    assert plain.verdict == "supported"
    asked = ask(loaded, backend="MINIMAX_M3_SPARSE", kv_cache_dtype=kv, **M3, **feature)
    assert (asked.verdict, codes(asked)[0]) == ("unsupported", code)
    assert "selector-kv-cache-dtype" not in codes(asked)


def test_every_answered_refusal_is_one_that_the_backend_has_in_some_release(loaded: LoadedMatrix) -> None:
    has: dict[str, set[str]] = {}
    answered: dict[str, set[str]] = {}
    for release in loaded.matrix.engines["vllm"].releases:
        engine = loaded.resolver.engine("vllm", release)
        for name in engine.present:
            backend = engine.program(name)
            has.setdefault(name, set()).update(check.code for check in backend.checks)
            if backend.facts["unasked"]:
                answered.setdefault(name, set()).update(backend.answered_by_model)
    assert answered
    assert {name: codes - has[name] for name, codes in answered.items() if codes - has[name]} == {}
