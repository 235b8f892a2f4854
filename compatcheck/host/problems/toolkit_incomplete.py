"""A toolkit with nvcc but without headers or libraries that FlashInfer's modules need."""

from __future__ import annotations

from compatcheck.host.model import Host, Problem, Severity
from compatcheck.host.problems.kernel_wheels import jit_cache_usable

_CORE = ("cuda.h", "cuda_runtime.h")
_USED_BY = {
    "cuda_fp8.h": "FP8 kernels",
    "cuda_fp4.h": "NVFP4 kernels (CUDA 12.8 and later)",
    "curand.h": "the sampler",
    "curand_kernel.h": "the sampler and FA3 attention",
    "cublas_v2.h": "bmm_fp8",
    "cublasLt.h": "bmm_fp8 and the cuBLASLt GEMMs",
    "nvrtc.h": "the fused MoE and FP8 block-scale GEMM modules",
}
_HEADER_SOURCE = (
    "flashinfer/jit/cpp_ext.py:get_system_includes@0.7.2.post1; "
    "flashinfer/data/include/flashinfer/sampling.cuh@0.6.15; "
    "https://github.com/sgl-project/sglang/issues/4169"
)
_LIBRARY_SOURCE = (
    "flashinfer/jit/cpp_ext.py:generate_ninja_build_for_op@0.7.2.post1; "
    "https://github.com/flashinfer-ai/flashinfer/issues/5064; "
    "https://github.com/unslothai/unsloth-zoo/pull/1099"
)


def check(host: Host) -> list[Problem]:
    """Report missing libraries (every link fails) and headers (the modules that include them fail)."""
    kit = host.toolkit
    if "flashinfer-python" not in host.packages or not kit.nvcc or kit.nvcc_error:
        return []
    worst: Severity = "info" if not host.usable_gpus() else "warning" if jit_cache_usable(host) else "error"
    problems = []
    libraries = [name for name, there in kit.libraries.items() if there is False]
    if libraries:
        flags = " ".join(f"-l{name[3:-3]}" for name in libraries)
        problems.append(
            Problem(
                code="toolkit-cannot-link",
                severity=worst,
                who="the linker, at the end of the first kernel build",
                message=f"after minutes of nvcc work the link fails with 'cannot find {flags.split()[0]}'",
                required=f"{', '.join(kit.libraries)} in ROOT/lib64 or ROOT/lib64/stubs (ROOT from "
                f"{kit.source}), in "
                "LIBRARY_PATH or where the linker looks by default",
                found=f"no {', no '.join(libraries)}",
                fix=_link_fix(host, libraries),
                source=_LIBRARY_SOURCE,
            )
        )
    core = [name for name in _CORE if kit.headers.get(name) is False]
    if core:
        problems.append(
            Problem(
                code="toolkit-without-headers",
                severity="info" if worst == "info" else "warning",
                who="the C++ compiler, at the first build of XQA attention, FP4/FP8 quantisation or fused MoE",
                message="nvcc brings its own headers, but the .cpp sources of those modules see only ROOT/include",
                required=f"ROOT/include with {', '.join(_CORE)} (ROOT from {kit.source})",
                found=f"no {', no '.join(core)}",
                fix=_root_fix(host),
                source="flashinfer/jit/xqa.py, jit/fp4_quantization.py, jit/cpp_ext.py:get_system_includes@0.7.2.post1",
            )
        )
        return problems  # where nvcc's own headers lie is not known, so nothing is said about the others
    headers = [name for name in _USED_BY if kit.headers.get(name) is False]
    if headers:
        problems.append(
            Problem(
                code="toolkit-missing-headers",
                severity="info" if worst == "info" else "warning",
                who="nvcc, at the first build of " + "; ".join(dict.fromkeys(_USED_BY[name] for name in headers)),
                message=f"those modules fail with 'fatal error: {headers[0]}: No such file or directory'",
                required=f"{', '.join(headers)} in ROOT/include (ROOT from {kit.source})",
                found="not there",
                fix="install the whole toolkit, or its development packages (libcurand-dev, libcublas-dev, "
                "cuda-nvrtc-dev)",
                source=_HEADER_SOURCE,
            )
        )
    return problems


def _link_fix(host: Host, libraries: list[str]) -> str:
    if "libcudart.so" in libraries:
        return _root_fix(host)
    return (
        "install the toolkit's driver stub (cuda-driver-dev), or link libcuda.so to the driver's "
        "libcuda.so.1 in a "
        "directory that LIBRARY_PATH names"
    )


def _root_fix(host: Host) -> str:
    if host.toolkit.source == "PATH":
        return "set CUDA_HOME to the real toolkit: the nvcc on PATH is a link or wrapper outside of it"
    variable = "CUDA_HOME" if host.toolkit.source == "default" else host.toolkit.source
    return f"point {variable} at a complete CUDA toolkit (one with lib64)"
