"""Texts of attention layers as users pasted them, and the rule that each has to lead to first."""

from __future__ import annotations

import time

import pytest

from compatcheck.explain.entries import entries
from compatcheck.explain.match import find
from compatcheck.matrix.load import LoadedMatrix

MISSING = (
    "RuntimeError: Error in function 'trtllm_paged_attention_launcher' at csrc/trtllm_fmha_kernel_launcher.cu:287: "
    "Missing TRTLLM-GEN kernel (decode): qkvLayout=2, maskType=1, kernelType=2, tileScheduler=0, multiCtasKvMode=1, "
    "headDimPerCtaV=128, headDimQk=128, headDimV=128, tileSizeQ=8, tileSizeKv=128, numTokensPerPage=128, "
    "dynamicNumTokensPerPage=0, reuseSmemKForV=0"
)
NOT_FOUND = (
    "Error in function 'loadKernel' at fmhaKernels.cuh:900: Trtllm-gen kernels not found: qkvLayout=2, maskType=1, "
    "kernelType=3, tileScheduler=0, multiCtasKvMode=1, headDimPerCtaV=512, headDimQk=512, headDimV=512, tileSizeQ=128"
)
ARGUMENT = "TypeError: trtllm_batch_decode_{}() got an unexpected keyword argument '{}'"
STORE = """triton.compiler.errors.CompilationError: at 1:0:
def reshape_and_cache_kernel_flash(
    key_ptr,
ValueError("type fp8e4nv not supported in this architecture. The supported fp8 dtypes are ('fp8e4b15', 'fp8e5')")"""


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (
            "Worker failed with error 'shape '[512, 64, 576]' is invalid for input of size 21495808'",
            "vllm-flashmla-sparse-fp8-page-shape",
        ),
        (ARGUMENT.format("with_kv_cache_mla", "kv_scale_format"), "fi-sparse-mla-sm120-arguments"),
        (ARGUMENT.format("sparse_mla_dsv4", "swa_topk_lens"), "fi-sparse-mla-sm120-arguments"),
        (
            "OutOfResources: out of resource: shared memory, Required: 102400, Hardware limit: 101376. Reducing block",
            "vllm-triton-mla-fp8-sm12x-smem",
        ),
        ("AssertionError: Requires power-of-2 dim, got 96", "vllm-int4-head-power-of-two"),
        ("AssertionError: Sinks are only supported in FlashAttention 3", "vllm-flash-attn-sinks"),
        ("ValueError: Unknown TurboQuant cache dtype: 'auto'. Valid presets: turbo", "vllm-turboquant-v1-runner"),
        (STORE, "vllm-triton-fp8-lt-sm89-compile"),
        (NOT_FOUND, "fi-trtllm-gen-head-512-drafts"),
        (MISSING, "fi-trtllm-gen-mha-page-128"),
    ],
)
def test_the_text_leads_to_its_rule(loaded: LoadedMatrix, text: str, code: str) -> None:
    found = find(entries(loaded), text)
    assert found[0].entry.id == code, [match.entry.id for match in found[:3]]


def test_one_long_word_takes_no_time(loaded: LoadedMatrix) -> None:
    start = time.monotonic()
    find(entries(loaded), "A" * 40_000)
    assert time.monotonic() - start < 5
