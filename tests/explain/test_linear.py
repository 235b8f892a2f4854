"""Pasted lines about linear kernels find their entry."""

from __future__ import annotations

import pytest

from compatcheck.explain.entries import entries
from compatcheck.explain.match import find
from compatcheck.matrix.load import LoadedMatrix


@pytest.mark.parametrize(
    ("text", "id_"),
    [
        ("BackendSupportedError: mm_fp4 does not support backend 'trtllm' with capability 120", "linear-trtllm-sm"),
        (
            "WARNING Your GPU does not have native support for FP4 computation but FP4 quantization is being used.",
            "linear-no-native-fp4-words",
        ),
        (
            "ValueError: Failed to find a kernel that can implement the NVFP4 linear layer. Reasons: ",
            "no-linear-kernel",
        ),
        ("FlashInferCutlassNvFp4LinearKernel: FlashInfer + >=sm_100 required", "linear-flashinfer-cutlass"),
        ("--linear-backend=aiter was requested but no 'aiter' kernel exists", "linear-backend-not-for-layer"),
        ("marlinnvfp4linearkernel", "MarlinNvFp4LinearKernel"),
        ("Using HummingNvFp4LinearKernel for NVFP4 GEMM", "HummingNvFp4LinearKernel"),
    ],
)
def test_pasted_text(loaded: LoadedMatrix, text: str, id_: str) -> None:
    assert find(entries(loaded), text)[0].entry.id == id_


def test_a_kernel_says_what_it_means(loaded: LoadedMatrix) -> None:
    entry = find(entries(loaded), "MarlinNvFp4LinearKernel")[0].entry
    facts = dict(entry.facts)
    assert facts["computes"].startswith("weight-only")
    assert facts["asked for by"] == "--linear-backend marlin"
    assert facts["before 0.24"] == "VLLM_NVFP4_GEMM_BACKEND=marlin"
    assert entry.sources
    assert entry.line
