"""When what every prefill or decode meets bites: where a start runs one, the engine never comes up."""

from __future__ import annotations

from typing import Any

import pytest

from compatcheck.matrix.load import LoadedMatrix

from .conftest import judge

PREFILL: dict[str, Any] = {
    "sm": "8.0",
    "backend": "TURBOQUANT",
    "kv_cache_dtype": "turboquant_k8v4",
    "head_size": 512,
}
"""No FlashAttention takes the prompt; decode has kernels of its own (vllm-turboquant-head-over-256)."""
DECODE: dict[str, Any] = {"sm": "10.0", "backend": "CUTLASS_MLA", "use_mla": True, "head_size": 320}
"""The decode asserts another size (vllm-cutlass-mla-dimensions)."""
FLASHINFER: dict[str, Any] = {"sm": "9.0", "backend": "FLASHINFER", "kv_cache_dtype": "fp8", "head_size": 512}
"""vllm-flashinfer-fp8-head512-sm90, from 0.25 on."""
DRAFTED: dict[str, Any] = {"sm": "10.0", "backend": "FLASHINFER", "use_non_causal": True, "use_dcp": True}
"""vllm-flashinfer-non-causal-dcp, from 0.24 on: a warm-up of the V1 runner drafts nothing."""
EAGER: dict[str, Any] = {"cudagraph_mode": "NONE"}


@pytest.mark.parametrize(
    ("asked", "release", "more", "fails_at"),
    [
        (PREFILL, "0.20.0", {}, "first-request"),
        (PREFILL, "0.28.0", {}, "first-request"),
        (PREFILL, "0.28.0", {"use_v2_model_runner": True}, "init"),
        (PREFILL, "0.28.0", {"use_v2_model_runner": True, **EAGER}, "init"),
        (PREFILL, "0.29.0", {}, "init"),
        (PREFILL, "0.30.0", EAGER, "init"),
        (PREFILL, "0.30.0", {"use_v2_model_runner": False}, "first-request"),
        (PREFILL, "0.31.0", {}, "init"),
        (PREFILL, "0.31.0", {"cudagraph_mode": "PIECEWISE"}, "init"),
        (PREFILL, "0.31.0", EAGER, "first-request"),
        (PREFILL, "0.31.0", {"use_v2_model_runner": True, **EAGER}, "first-request"),
        (PREFILL, "0.33.0", {"use_v2_model_runner": False}, "first-request"),
        (DECODE, "0.20.0", {}, "init"),
        (DECODE, "0.20.0", {"cudagraph_mode": "PIECEWISE"}, "first-request"),
        (DECODE, "0.20.0", EAGER, "first-request"),
        (DECODE, "0.30.0", EAGER, "init"),
        (DECODE, "0.33.0", EAGER, "first-request"),
        (DECODE, "0.33.0", {"cudagraph_mode": "PIECEWISE"}, "init"),
        (DECODE, "0.33.0", {"use_v2_model_runner": False}, "init"),
        (FLASHINFER, "0.25.0", EAGER, "init"),
        (FLASHINFER, "0.33.0", EAGER, "init"),
        (DRAFTED, "0.25.0", {}, "first-request"),
        (DRAFTED, "0.29.0", {}, "init"),
    ],
)
def test_the_moment(
    loaded: LoadedMatrix, asked: dict[str, Any], release: str, more: dict[str, Any], fails_at: str
) -> None:
    assert judge(loaded, engine_version=release, **asked, **more).fails_at == fails_at


@pytest.mark.parametrize(("model_type", "fails_at"), [("deepseek_v2", "init"), ("deepseek_v3", "first-request")])
def test_a_model_that_the_release_lists_for_v2(loaded: LoadedMatrix, model_type: str, fails_at: str) -> None:
    answer = judge(loaded, engine_version="0.26.0", sm="7.5", use_mla=True, head_size=576, model_type=model_type)
    assert answer.fails_at == fails_at


def test_batches_tell_the_moments_apart(loaded: LoadedMatrix) -> None:
    """The resolver keeps answers by what they depend on; the moment is part of that."""
    found = [judge(loaded, engine_version="0.33.0", **PREFILL, **more).fails_at for more in ({}, EAGER, {}, EAGER)]
    assert found == ["init", "first-request"] * 2
