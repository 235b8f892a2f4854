"""CUDA_VISIBLE_DEVICES hides GPUs, or cannot be resolved."""

from __future__ import annotations

from compatcheck.host.model import Host, Problem, Severity


def check(host: Host) -> list[Problem]:
    """Report hidden GPUs: a warning where none is left, else worth knowing."""
    if "CUDA_VISIBLE_DEVICES" not in host.environment or not host.gpus:
        return []
    hidden = [gpu for gpu in host.gpus if gpu.visible is False]
    unsure = [gpu for gpu in host.gpus if gpu.visible is None]
    if not hidden and not unsure:
        return []
    value = host.environment["CUDA_VISIBLE_DEVICES"]
    shown = f"CUDA_VISIBLE_DEVICES={'<UUIDs>' if value is None else value}"
    severity: Severity = "info"
    if len(hidden) == len(host.gpus):
        severity, message = (
            "warning",
            "every GPU is hidden; CUDA reads the list up to the first entry that is no device",
        )
    elif unsure:
        message = "which GPUs that selects depends on CUDA's own order, which differs from the PCI order here"
    else:
        message = "the hidden GPUs are left out of every answer"
    listed = ", ".join(f"GPU {gpu.index} {gpu.name or ''}".rstrip() for gpu in hidden or unsure)
    return [
        Problem(
            code="gpus-hidden",
            severity=severity,
            who="CUDA_VISIBLE_DEVICES",
            message=message,
            required="unset, or a list of the GPUs to use",
            found=f"{shown}: {listed}",
            fix="set CUDA_DEVICE_ORDER=PCI_BUS_ID" if unsure else "unset CUDA_VISIBLE_DEVICES, or list the GPUs to use",
            source="torch/cuda/__init__.py:_parse_visible_devices@2.13.0",
        )
    ]
