"""nvcc and the CUDA headers beside it are of two releases."""

from __future__ import annotations

from compatcheck.host.model import Host, Problem, Severity
from compatcheck.host.problems.facts import CCCL_SINCE, before, flashinfer_version, named
from compatcheck.host.problems.kernel_wheels import jit_cache_usable

_WHEELS = ("nvidia-cuda-nvcc", "nvidia-cuda-runtime")
_SOURCE = (
    "flashinfer/data/cccl/libcudacxx/include/cuda/std/__cccl/cuda_toolkit.h:41@0.7.4; "
    "https://github.com/flashinfer-ai/flashinfer/issues/3493; https://github.com/vllm-project/vllm/issues/44305"
)


def check(host: Host) -> list[Problem]:
    """Report headers of another release than nvcc, which FlashInfer's own CCCL refuses (from 0.6.10 on).

    pip moves NVIDIA's wheels one by one: nvidia-cuda-nvcc 13.3 beside the nvidia-cuda-runtime 13.0 that torch pins.
    """
    kit = host.toolkit
    headers, nvcc = kit.headers_version, kit.cuda_version
    if "flashinfer-python" not in host.packages or headers is None or nvcc is None or headers == nvcc:
        return []
    if before(flashinfer_version(host), CCCL_SINCE):
        return []
    severity: Severity = "info" if not host.usable_gpus() else "warning" if jit_cache_usable(host) else "error"
    return [
        Problem(
            code="nvcc-headers-mismatch",
            severity=severity,
            who=f"the CCCL that {named(host, 'flashinfer-python')} brings, at the first kernel build",
            message="the build stops with 'CUDA compiler and CUDA toolkit headers are incompatible, please check your "
            "include paths'",
            required="nvcc and headers of one release, major and minor",
            found=f"nvcc {nvcc}, headers of {headers} in the same toolkit (from {kit.source}){_wheels(host)}",
            fix=_fix(host, headers),
            source=_SOURCE,
        )
    ]


def _wheels(host: Host) -> str:
    there = [f"{name} {host.version(name)}" for name in _WHEELS if host.version(name)]
    return f"; installed: {', '.join(there)}" if there else ""


def _fix(host: Host, headers: str) -> str:
    whole = "set CUDA_HOME to one complete toolkit"
    if any(host.version(name) is None for name in _WHEELS):
        return whole
    wanted = " ".join(f"'{name}=={headers}.*'" for name in ("nvidia-cuda-nvcc", "nvidia-cuda-crt", "nvidia-nvvm"))
    return f"pip install {wanted}, the release of the headers; or {whole}"
