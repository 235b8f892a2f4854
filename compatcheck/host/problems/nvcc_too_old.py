"""A toolkit that cannot compile for an installed GPU."""

from __future__ import annotations

from compatcheck.host.model import Host, Problem
from compatcheck.host.problems.facts import (
    COMPRESS_MODE_SINCE,
    SM120_CUDA_12_8_SINCE,
    at_least,
    flashinfer_version,
    named,
    version_of,
)
from compatcheck.host.problems.kernel_wheels import jit_cache_usable
from compatcheck.matrix.versions import parse

_NVCC_KNOWS = {"10.0": "12.8", "10.3": "12.9", "11.0": "13.0"}
"""First CUDA whose compiler has the target: ptxas --help of 12.8.93, 12.9.86; nvcc of 13.0.88."""


def minimum_cuda(sm: str, flashinfer: str | None) -> tuple[str, str, str] | None:
    """Return (CUDA version, who asks for it, source) to build for an SM; None if any will do."""
    gate = "flashinfer/compilation_context.py:_normalize_cuda_arch"
    if sm == "12.0" and at_least(flashinfer, SM120_CUDA_12_8_SINCE):
        return "12.8", "FlashInfer", f"{gate}@0.7.1"
    if sm in ("12.0", "12.1"):
        return (
            "12.9",
            "FlashInfer",
            f"{gate}@{'0.7.1' if at_least(flashinfer, SM120_CUDA_12_8_SINCE) else '0.7.0.post1'}",
        )
    if sm in _NVCC_KNOWS:
        return (
            _NVCC_KNOWS[sm],
            "nvcc",
            "ptxas --help of CUDA 12.8.93 and 12.9.86; nvcc --list-gpu-arch of 13.0.88",
        )
    if at_least(flashinfer, COMPRESS_MODE_SINCE):
        return (
            "12.8",
            "nvcc",
            "flashinfer/jit/core.py:gen_jit_spec@0.6.18.post1; https://github.com/flashinfer-ai/flashinfer/issues/5479",
        )
    return None


def check(host: Host) -> list[Problem]:
    """Report each distinct SM that the toolkit FlashInfer would use is too old for."""
    if "flashinfer-python" not in host.packages:
        return []
    installed = flashinfer_version(host)
    torch = host.packages.get("torch")
    # Without an nvcc FlashInfer compares torch's CUDA; then no_compiler reports what really fails.
    found = host.toolkit.cuda_version if host.toolkit.nvcc else None
    have = version_of(found)
    if have is None:
        return []
    problems = []
    for sm in host.sms():
        need = minimum_cuda(sm, installed)
        if need is None or have >= parse(need[0]):
            continue
        required, who, source = need
        if who == "nvcc" and jit_cache_usable(host):
            continue  # FlashInfer itself lets it pass, and the prebuilt modules are not compiled
        wrong = (
            "the architecture list stays empty and the failure reads 'FlashInfer requires GPUs with sm75 "
            "or higher' "
            "or 'No supported CUDA architectures found for major versions [12]', blaming the GPU"
            if who == "FlashInfer"
            else "every kernel build fails with 'Unsupported gpu architecture'"
            if sm in _NVCC_KNOWS
            else "every kernel build fails with 'Unknown option '--compress-mode=size''"
        )
        same = f"; torch's CUDA {torch.cuda} does not help, nvcc decides" if torch and torch.cuda else ""
        problems.append(
            Problem(
                code="nvcc-too-old",
                severity="error",
                who=f"{who}, at the first kernel build",
                message=wrong + same,
                required=f"CUDA toolkit >= {required} for SM {sm} with {named(host, 'flashinfer-python')}",
                found=f"nvcc {found} (from {host.toolkit.source})",
                fix=f"install a CUDA toolkit >= {required} and set CUDA_HOME to it"
                + _newer(sm, have >= parse("12.8"), installed),
                source=f"{source}; https://github.com/vllm-project/vllm/issues/50705"
                if who == "FlashInfer"
                else source,
            )
        )
    return problems


def _newer(sm: str, has_12_8: bool, flashinfer: str | None) -> str:
    if sm == "12.0" and has_12_8 and not at_least(flashinfer, SM120_CUDA_12_8_SINCE):
        return f", or FlashInfer >= {SM120_CUDA_12_8_SINCE}, which needs only CUDA 12.8 for SM 12.0"
    return ""
