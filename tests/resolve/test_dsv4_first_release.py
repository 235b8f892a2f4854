"""FLASHINFER_MLA_SPARSE_DSV4 in its first release, whose selector took over what FlashMLA's class states."""

from __future__ import annotations

import pytest

from compatcheck.matrix.load import LoadedMatrix
from compatcheck.resolve.configuration import Configuration


@pytest.mark.parametrize(
    ("release", "sm", "kv", "code"),
    [
        ("0.23.0", "9.0", "fp8", "vllm-fi-dsv4-lt-sm100"),
        ("0.23.0", "9.0", "auto", "vllm-fi-dsv4-lt-sm100"),
        ("0.23.0", "10.0", "fp8", None),
        ("0.23.0", "10.3", "fp8_ds_mla", "vllm-fi-dsv4-packed-rows"),
        ("0.24.0", "9.0", "fp8", "fi-dsv4-sm"),
    ],
)
def test_what_its_only_kernel_takes(loaded: LoadedMatrix, release: str, sm: str, kv: str, code: str | None) -> None:
    asked = Configuration(
        engine_version=release,
        sm=sm,
        kv_cache_dtype=kv,
        head_size=512,
        backend="FLASHINFER_MLA_SPARSE_DSV4",
        model_type="deepseek_v4",
        use_mla=True,
        use_sparse=True,
        kv_lora_rank=448,
        qk_nope_head_dim=448,
        qk_rope_head_dim=64,
        v_head_dim=512,
    )
    verdict = loaded.resolver.resolve(asked, alternatives=False)
    refusing = {finding.code for finding in verdict.findings if finding.effect == "unsupported"}
    assert (code in refusing) if code else verdict.verdict == "supported"
