"""FlashInfer can neither compile its kernels nor load prebuilt ones."""

from __future__ import annotations

from compatcheck.host.model import Host, Problem, Severity, Toolkit
from compatcheck.host.problems.kernel_wheels import jit_cache_usable

_FIX = "install a CUDA toolkit and set CUDA_HOME to it, or install flashinfer-jit-cache of FlashInfer's version"


def can_compile(host: Host) -> bool | None:
    """Return whether FlashInfer can build a kernel here.

    None where that is not known or does not decide: no FlashInfer, a toolkit that was not looked at, a jit-cache that
    is used.
    """
    kit = host.toolkit
    if "flashinfer-python" not in host.packages or kit.source == "not-queried" or jit_cache_usable(host):
        return None
    return _has_nvcc(kit) and kit.ninja and kit.host_compiler


def check(host: Host) -> list[Problem]:
    """Report a missing nvcc, ninja or C++ compiler where no usable jit-cache makes up for it."""
    if can_compile(host) is not False:
        return []
    severity: Severity = "error" if host.usable_gpus() else "info"
    kit = host.toolkit
    if not _has_nvcc(kit):
        return [
            Problem(
                code="no-nvcc-no-jit-cache",
                severity=severity,
                who="FlashInfer, at the first kernel build",
                message="every kernel has to be compiled at first use, and there is no working compiler to do it",
                required="ROOT/bin/nvcc, ROOT from CUDA_HOME, CUDA_PATH, `which nvcc` or /usr/local/cuda; "
                "or a "
                "flashinfer-jit-cache that matches",
                found=_found(host),
                fix=_fix(host),
                source="flashinfer/jit/cpp_ext.py:get_cuda_path@0.7.2.post1; "
                "https://github.com/vllm-project/vllm/issues/49497",
            )
        ]
    missing = [name for name, there in (("ninja", kit.ninja), ("a C++ compiler", kit.host_compiler)) if not there]
    return [
        Problem(
            code="no-build-tools",
            severity=severity,
            who="FlashInfer, at the first kernel build",
            message="nvcc is there, but not all that the build runs; a pip-installed ninja counts only "
            "with its "
            "environment's bin directory on PATH",
            required="ninja and c++ (or $CXX) on PATH",
            found=f"no {' and no '.join(missing)} on PATH",
            fix="activate the environment or put its bin directory on PATH; pip install ninja; install g++",
            source="flashinfer/jit/cpp_ext.py:run_ninja@0.7.2.post1",
        )
    ]


def _has_nvcc(kit: Toolkit) -> bool:
    return kit.nvcc and not kit.nvcc_error


def _found(host: Host) -> str:
    kit = host.toolkit
    if kit.nvcc_error:
        return f"{kit.nvcc_error} (from {kit.source})"
    if kit.error:
        return kit.error
    also = "; another nvcc is on PATH but not used" if kit.nvcc_on_path else ""
    return f"no bin/nvcc under the directory that {kit.source} decided{also}"


def _fix(host: Host) -> str:
    kit = host.toolkit
    if kit.nvcc_on_path and kit.source in ("CUDA_HOME", "CUDA_PATH"):
        return f"unset {kit.source}, or set it to the toolkit whose nvcc is on PATH"
    wheel = next((name for name in ("nvidia-cuda-nvcc", "nvidia-cuda-nvcc-cu12") if name in host.packages), None)
    if wheel is not None:
        return f"set CUDA_HOME to the toolkit directory of the installed {wheel} wheel; else {_FIX}"
    return _FIX
