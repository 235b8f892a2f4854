"""NVML did not answer, or a GPU did not."""

from __future__ import annotations

from typing import NamedTuple

from compatcheck.host.model import DriverState, Host, Problem, Severity


class _State(NamedTuple):
    severity: Severity
    message: str
    fix: str


_STATES: dict[DriverState, _State] = {
    "no-module": _State(
        "warning",
        "GPUs cannot be listed, because the Python module for it is missing",
        "pip install nvidia-ml-py",
    ),
    "no-library": _State(
        "info",
        "no NVIDIA driver is installed here, or the container was started without its libraries",
        "on a GPU host install the driver; in a container start it with --gpus all (utility capability)",
    ),
    "driver-not-loaded": _State(
        "error",
        "the driver's libraries are here, but its kernel module is not loaded",
        "sudo modprobe nvidia, or reinstall the driver for the running kernel",
    ),
    "library-mismatch": _State(
        "error",
        "the driver was upgraded while its old kernel module kept running: CUDA fails until they match",
        "reboot, or stop all GPU users and reload the nvidia kernel modules",
    ),
    "no-permission": _State(
        "warning",
        "this user may not ask the driver",
        "run as a user who may open the NVIDIA devices (group video or render), or start the container with GPUs",
    ),
    "gpu-lost": _State(
        "error",
        "a GPU fell off the bus",
        "look for Xid errors in the kernel log, then reset the GPU or reboot",
    ),
    "error": _State(
        "warning",
        "GPUs cannot be listed",
        "run nvidia-smi; if it fails too, reinstall the driver",
    ),
}
_NVML = "pynvml.py:NVMLError._errcode_to_string@13.615.71 (nvidia-ml-py)"


def check(host: Host) -> list[Problem]:
    """Report the state of NVML, lost GPUs and queries that failed."""
    problems = []
    state = _STATES.get(host.driver.state)
    if state is not None:
        problems.append(
            Problem(
                code=f"nvml-{host.driver.state}",
                severity=state.severity,
                who="NVML",
                message=state.message,
                required="an NVIDIA driver that answers",
                found=host.driver.error or host.driver.state,
                fix=state.fix,
                source=_NVML,
            )
        )
    for gpu in host.gpus:
        if gpu.lost:
            lost = _STATES["gpu-lost"]
            problems.append(
                Problem(
                    code="gpu-lost",
                    severity="error",
                    who=f"GPU {gpu.index}{f' ({gpu.name})' if gpu.name else ''}",
                    message="it stopped answering while it was queried",
                    required="a GPU that answers",
                    found="; ".join(gpu.errors) or "no answer",
                    fix=lost.fix,
                    source=_NVML,
                )
            )
        elif gpu.errors:
            problems.append(
                Problem(
                    code="gpu-query-failed",
                    severity="warning",
                    who=f"GPU {gpu.index}{f' ({gpu.name})' if gpu.name else ''}",
                    message="some facts about it are missing"
                    + ("; its compute capability is one of them, so nothing can be said for it" if not gpu.sm else ""),
                    required="an answer to every query",
                    found="; ".join(gpu.errors),
                    fix="upgrade the driver; give --sm by hand where the compute capability is missing",
                    source=_NVML,
                )
            )
    return problems
