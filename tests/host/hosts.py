"""Hosts for the doctor's tests, built from a few words."""

from __future__ import annotations

from typing import Any

from compatcheck.host.model import Driver, Gpu, Host, Mig, Package, Problem, Toolkit
from compatcheck.host.problems import diagnose
from compatcheck.host.toolkit import HEADERS, LIBRARIES

_NAMES = {
    "8.0": "NVIDIA A100",
    "8.6": "NVIDIA GeForce RTX 3090",
    "9.0": "NVIDIA H200",
    "10.0": "NVIDIA B200",
    "10.3": "NVIDIA B300",
    "11.0": "NVIDIA Thor",
    "12.0": "NVIDIA GeForce RTX 5090",
    "12.1": "NVIDIA GB10",
}


def gpu(sm: str, index: int = 0, **changes: Any) -> Gpu:
    return Gpu(**{"index": index, "name": _NAMES[sm], "sm": sm, "mig": Mig(enabled=False), **changes})


def package(name: str, version: str | None, **changes: Any) -> Package:
    local = version.partition("+")[2] or None if version else None
    return Package(**{"name": name, "version": version, "local": local, **changes})


def toolkit(version: str | None = "13.0", **changes: Any) -> Toolkit:
    """A complete toolkit; version None is a host without one."""
    if version is None:
        base: dict[str, Any] = {"source": "none", "ninja": True, "host_compiler": True, "error": "no CUDA_HOME"}
    else:
        base = {
            "source": "CUDA_HOME",
            "nvcc": True,
            "cuda_version": version,
            "nvcc_build": f"{version}.1",
            "nvcc_on_path": True,
            "headers": dict.fromkeys(HEADERS, True),
            "libraries": dict.fromkeys(LIBRARIES, True),
            "ninja": True,
            "host_compiler": True,
        }
    return Toolkit(**{**base, **changes})


def host(
    *gpus: Gpu | str,
    packages: dict[str, str] | None = None,
    extra: tuple[Package, ...] = (),
    kit: Toolkit | None = None,
    driver: Driver | None = None,
    env: dict[str, str | None] | None = None,
    **changes: Any,
) -> Host:
    """A host with these GPUs (or SMs) and packages, a complete CUDA 13.0 toolkit and a driver for CUDA 13.0."""
    boards = tuple(gpu(item, index) if isinstance(item, str) else item for index, item in enumerate(gpus))
    made = {name: package(name, version) for name, version in (packages or {}).items()}
    made.update({item.name: item for item in extra})
    silent = Driver(state="no-library", error="NVML Shared Library Not Found")
    return Host(
        gpus=boards,
        driver=driver or (Driver(version="580.159.04", cuda_version="13.0") if boards else silent),
        toolkit=kit or toolkit(),
        packages=made,
        environment=env or {},
        **changes,
    )


def codes(host_: Host) -> list[str]:
    return [problem.code for problem in diagnose(host_)]


def problem(host_: Host, code: str) -> Problem:
    """Return the one problem of a code; fails where there is none or more than one."""
    found = [item for item in diagnose(host_) if item.code == code]
    assert len(found) == 1, f"expected one {code}, found {codes(host_)}"
    return found[0]
