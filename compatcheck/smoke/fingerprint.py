"""Where a run was made: GPU, driver, toolkit, libraries, tool and matrix. No host name, no path, no serial number."""

from __future__ import annotations

from typing import Any

import msgspec


class Fingerprint(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Facts that a result depends on. `matrix` is its SHA-256, `libraries` maps distributions to versions."""

    gpu: str | None = None
    sm: str
    gpu_count: int = 0
    driver: str | None = None
    cuda_driver: str | None = None
    nvcc: str | None = None
    torch: str | None = None
    torch_cuda: str | None = None
    flashinfer: str | None = None
    cudnn: int | None = None
    python: str | None = None
    os: str | None = None
    tool: str
    matrix: str
    libraries: dict[str, str] = {}

    def identity(self) -> dict[str, Any]:
        """Return what must be equal for results to belong to one run."""
        kept = msgspec.structs.asdict(self)
        for name in ("gpu_count", "os", "libraries", "tool"):
            kept.pop(name)
        return kept


def make_fingerprint(host: Any, facts: dict[str, Any], sm: str, tool: str, matrix: str) -> Fingerprint:
    """Return the fingerprint of a host document and of what the worker's libraries say of themselves."""
    gpus = [gpu for gpu in host.usable_gpus() if gpu.sm == sm]
    libraries = {
        name: str(version)
        for name, version in facts.items()
        if isinstance(version, str) and ("-" in name or name in ("triton", "numpy"))
    }
    return Fingerprint(
        gpu=facts.get("gpu") or (gpus[0].name if gpus else None),
        sm=sm,
        gpu_count=len(gpus),
        driver=host.driver.version,
        cuda_driver=host.driver.cuda_version,
        nvcc=host.toolkit.nvcc_build or host.toolkit.cuda_version,
        torch=facts.get("torch") or host.version("torch"),
        torch_cuda=facts.get("torch_cuda"),
        flashinfer=facts.get("flashinfer-python") or host.version("flashinfer-python"),
        cudnn=facts.get("cudnn"),
        python=host.system.python,
        os=host.system.os,
        tool=tool,
        matrix=matrix,
        libraries=libraries,
    )
