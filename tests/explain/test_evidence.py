"""What is evidence for an entry and what is not: real texts of logs, headings of the docs."""

from __future__ import annotations

import pytest

from compatcheck.explain.entries import entries
from compatcheck.explain.entry import Entry
from compatcheck.explain.match import find
from compatcheck.matrix.load import LoadedMatrix

UNRELATED = [
    "ValueError",
    "RuntimeError:",
    "AssertionError",
    "CUDA out of memory. Tried to allocate 20.00 MiB. GPU 0 has a total capacity of 79.10 GiB",
    "torch.OutOfMemoryError: CUDA out of memory",
    "RuntimeError: Engine core initialization failed. See root cause above.",
    "Segmentation fault (core dumped)",
    "FileNotFoundError: [Errno 2] No such file or directory: '/models/llama/config.json'",
    "RuntimeError: Plan index 12 is invalid",
    "RuntimeError: Error Internal at nvfp4_scaled_mm_sm120.cuh:175",
    "NCCL error: unhandled system error",
    "OSError: You are trying to access a gated repo.",
    "ValueError: The checkpoint you are trying to load has model type `foo` but Transformers does not recognize it",
    "AttributeError: 'NoneType' object has no attribute 'shape'",
    "The decoder prompt (length 5000) is longer than the maximum model length of 4096",
    "cache",
]
TEXTS = {
    "vllm serve: error: argument --kv-cache-dtype: invalid choice: 'nvfp4' (choose from auto, bfloat16, fp8)": (
        "kv-cache-dtype-not-in-release"
    ),
    "1 validation error for CacheConfig\ncache_dtype\n  Input should be 'auto', 'bfloat16', 'fp8' or 'fp8_ds_mla' "
    "[type=literal_error, input_value='nvfp4', input_type=str]": "kv-cache-dtype-not-in-release",
    "NotImplementedError: quantization is not supported for encoder attention": "vllm-encoder-quantised-kv",
    "ValueError: HPC attention only supports head_per_group in {4, 8}, got 2 (num_heads=16, num_kv_heads=8)": (
        "vllm-hpc-head-groups"
    ),
    "RuntimeError: VLLM batch_invariant mode requires an attention backend in ['FLASH_ATTN', 'TRITON_ATTN', "
    "'FLASH_ATTN_MLA', 'TRITON_MLA'], but got 'None'. Please use --attention-backend or attention_config to set one "
    "of the supported backends before enabling batch_invariant.": "vllm-batch-invariant-backend",
    "RuntimeError: FlashAttention only supports Ampere GPUs or newer.": "fa2-needs-sm80",
    "ModuleNotFoundError: No module named 'flashinfer'": "flashinfer-not-installed",
    "No module named 'flashinfer'": "flashinfer-not-installed",
    "ValueError: Unknown attention backend: 'FOO'. Valid options are: FLASH_ATTN": "backend-not-in-release",
    "MLAAttention does not support PCP+DCP.": "vllm-mla-pcp-dcp",
    "Model does not have supported MLA dimensions (got (qk_nope_head_dim=192, qk_rope_head_dim=64, v_head_dim=192))": (
        "mla-prefill-dimensions"
    ),
    "No valid MLA prefill backend found with MLAPrefillSelectorConfig(dtype=torch.bfloat16)": "vllm-mla-prefill-none",
    "kernels.md#flashinferxqadecode": "flashinfer.xqa.decode",
    "#vllmtritonunified_attention": "vllm.triton.unified_attention",
    "docs/rules/nvfp4-kv-mla.md": "nvfp4-kv-mla",
}


@pytest.fixture(scope="module")
def index(loaded: LoadedMatrix) -> list[Entry]:
    return entries(loaded)


@pytest.mark.parametrize("text", UNRELATED)
def test_unrelated(index: list[Entry], text: str) -> None:
    assert find(index, text) == []


@pytest.mark.parametrize(("text", "first"), TEXTS.items())
def test_real_texts(index: list[Entry], text: str, first: str) -> None:
    assert find(index, text)[0].entry.id == first
