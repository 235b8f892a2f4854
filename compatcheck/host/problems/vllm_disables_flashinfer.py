"""vLLM switches FlashInfer off by itself where it sees neither cubins nor a compiler."""

from __future__ import annotations

from compatcheck.host.model import Host, Problem
from compatcheck.host.problems.facts import (
    VLLM_RESOLVES_LIKE_FLASHINFER_SINCE,
    at_least,
)


def check(host: Host) -> list[Problem]:
    """Report when vLLM's `has_flashinfer()` would answer no although FlashInfer is installed."""
    vllm = host.version("vllm")
    if vllm is None or "flashinfer-python" not in host.packages or host.toolkit.source == "not-queried":
        return []
    if "flashinfer-cubin" in host.packages or host.environment.get("VLLM_HAS_FLASHINFER_CUBIN", "0") not in (
        "0",
        "",
    ):
        return []
    kit = host.toolkit
    if at_least(vllm, VLLM_RESOLVES_LIKE_FLASHINFER_SINCE):
        missing = [name for name, there in (("nvcc", kit.nvcc), ("ninja", kit.ninja)) if not there]
        required = "flashinfer-cubin, or nvcc as FlashInfer resolves it and ninja on PATH"
        source = "vllm/utils/flashinfer.py:has_flashinfer@0.32.0"
        fix = "vllm download-kernels, or set CUDA_HOME to a CUDA toolkit and put ninja on PATH"
    else:
        missing = [] if kit.nvcc_on_path else ["nvcc"]
        required = "flashinfer-cubin, or nvcc on PATH (CUDA_HOME alone does not count before vLLM 0.32.0)"
        source = "vllm/utils/flashinfer.py:has_flashinfer@0.31.0"
        fix = "put the toolkit's bin directory on PATH, or install flashinfer-cubin of FlashInfer's version"
    if not missing:
        return []
    return [
        Problem(
            code="vllm-disables-flashinfer",
            severity="warning" if host.usable_gpus() else "info",
            who=f"vLLM {vllm}, has_flashinfer()",
            message="vLLM treats FlashInfer as not installed: no FlashInfer sampler, MoE or GEMM, no "
            "trtllm-gen attention",
            required=required,
            found=f"no flashinfer-cubin, no {' and no '.join(missing)}",
            fix=fix,
            source=source,
        )
    ]
