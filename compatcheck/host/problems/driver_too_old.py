"""torch built for a newer CUDA major than the driver runs."""

from __future__ import annotations

from compatcheck.host.model import Host, Problem
from compatcheck.host.problems.facts import cuda_major, named, version_of

_SOURCE = "https://docs.nvidia.com/deploy/cuda-compatibility/minor-version-compatibility.html"
_MINIMUM_DRIVER = {12: "525", 13: "580"}


def check(host: Host) -> list[Problem]:
    """Report a driver of an older CUDA major as an error, one of an older minor as worth knowing."""
    torch = host.packages.get("torch")
    wanted = version_of(torch.cuda) if torch else None
    runs = version_of(host.driver.cuda_version)
    if torch is None or wanted is None or runs is None or wanted <= runs:
        return []
    major = cuda_major(torch.cuda) or 0
    minimum = _MINIMUM_DRIVER.get(major)
    at_least = f" (driver >= {minimum})" if minimum else ""
    found = f"driver {host.driver.version or '(version unknown)'}, which runs CUDA up to {host.driver.cuda_version}"
    if wanted.major > runs.major:
        return [
            Problem(
                code="driver-too-old-for-torch",
                severity="error",
                who="torch, when CUDA is initialised",
                message="torch finds no usable CUDA device: 'The NVIDIA driver on your system is too old'",
                required=f"a driver that runs CUDA {wanted.major}.x{at_least} for {named(host, 'torch')}",
                found=found,
                fix=f"upgrade the driver, install NVIDIA's cuda-compat package for CUDA {torch.cuda} "
                "(data-centre GPUs "
                f"only), or install a torch for CUDA {runs.major}.x",
                source=_SOURCE,
            )
        ]
    return [
        Problem(
            code="driver-older-minor-than-torch",
            severity="info",
            who="the driver",
            message="it works through minor-version compatibility, but code shipped as PTX of the newer "
            "CUDA is refused",
            required=f"a driver that runs CUDA {torch.cuda} for the whole feature set",
            found=found,
            fix="nothing to do unless a kernel fails with 'the provided PTX was compiled with an "
            "unsupported toolchain'",
            source=_SOURCE,
        )
    ]
