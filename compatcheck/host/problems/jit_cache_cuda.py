"""flashinfer-jit-cache built for another CUDA major than torch."""

from __future__ import annotations

import re

from compatcheck.host.model import Host, Problem
from compatcheck.host.problems.facts import cuda_major

_LOCAL = re.compile(r"cu(\d{2})(\d)\Z")


def check(host: Host) -> list[Problem]:
    """Compare the +cuXYZ of the jit-cache wheel with the CUDA that torch was built for."""
    cache, torch = host.packages.get("flashinfer-jit-cache"), host.packages.get("torch")
    match = _LOCAL.match(cache.local or "") if cache else None
    if match is None or torch is None or torch.cuda is None or int(match[1]) == cuda_major(torch.cuda):
        return []
    return [
        Problem(
            code="flashinfer-jit-cache-cuda-mismatch",
            severity="warning",
            who="the dynamic linker, when a prebuilt kernel is loaded",
            message="the prebuilt kernels want the CUDA runtime library of another major version than torch brings",
            required=f"a flashinfer-jit-cache for CUDA {torch.cuda}",
            found=f"flashinfer-jit-cache {cache.version if cache else ''} (CUDA {match[1]}.{match[2]})",
            fix=f"install flashinfer-jit-cache +cu{torch.cuda.replace('.', '')}",
            source="https://github.com/flashinfer-ai/flashinfer/issues/2195",
        )
    ]
