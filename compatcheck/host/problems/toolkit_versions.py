"""nvcc of another CUDA major than torch, or newer than the driver runs."""

from __future__ import annotations

from compatcheck.host.model import Host, Problem
from compatcheck.host.problems.facts import cuda_major, named

_COMPATIBILITY = "https://docs.nvidia.com/deploy/cuda-compatibility/minor-version-compatibility.html"


def check(host: Host) -> list[Problem]:
    """Compare the CUDA majors of the compiler, of torch and of the driver."""
    nvcc, torch = host.toolkit.cuda_version, host.packages.get("torch")
    if nvcc is None or "flashinfer-python" not in host.packages:
        return []
    problems = []
    if torch is not None and torch.cuda is not None and cuda_major(torch.cuda) != cuda_major(nvcc):
        problems.append(
            Problem(
                code="nvcc-torch-cuda-mismatch",
                severity="warning",
                who="the dynamic linker, when a compiled kernel is loaded",
                message="compiled kernels link to the CUDA runtime of nvcc's major version, torch brings another one",
                required=f"a toolkit of CUDA {cuda_major(torch.cuda)}.x, as {named(host, 'torch')} was built for",
                found=f"nvcc {nvcc} (from {host.toolkit.source}), torch for CUDA {torch.cuda}",
                fix=f"set CUDA_HOME to a CUDA {cuda_major(torch.cuda)}.x toolkit, or install a torch for "
                "CUDA "
                f"{cuda_major(nvcc)}",
                source="https://github.com/flashinfer-ai/flashinfer/issues/2195",
            )
        )
    driver = cuda_major(host.driver.cuda_version)
    compiler = cuda_major(nvcc)
    if driver is not None and compiler is not None and compiler > driver:
        problems.append(
            Problem(
                code="nvcc-newer-than-driver",
                severity="error",
                who="the CUDA runtime, when a compiled kernel is loaded",
                message="'CUDA driver version is insufficient for CUDA runtime version'",
                required=f"a driver that runs CUDA {compiler}.x, or a toolkit of CUDA {driver}.x or older",
                found=f"nvcc {nvcc}; driver {host.driver.version or '(version unknown)'}, "
                f"which runs CUDA up to {host.driver.cuda_version}",
                fix=f"set CUDA_HOME to a CUDA {driver}.x toolkit, or upgrade the driver",
                source=_COMPATIBILITY,
            )
        )
    return problems
