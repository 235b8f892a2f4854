"""GPUs in multi-instance mode."""

from __future__ import annotations

from compatcheck.host.model import Host, Problem

_SOURCE = "https://docs.nvidia.com/datacenter/tesla/mig-user-guide/mig-device-names.html"


def check(host: Host) -> list[Problem]:
    """Report MIG: without instances the GPU is unusable, with them a process sees one slice of it."""
    problems = []
    for gpu in host.gpus:
        if not gpu.mig.enabled:
            continue
        count = len(gpu.mig.instances)
        sizes = ", ".join(
            f"{instance.name or f'instance {instance.index}'}"
            + (f" ({instance.memory_bytes / 2**30:.1f} GiB)" if instance.memory_bytes else "")
            for instance in gpu.mig.instances
        )
        problems.append(
            Problem(
                code="mig-enabled" if count else "mig-without-instances",
                severity="info" if count else "error",
                who=f"GPU {gpu.index} ({gpu.name or 'unnamed'})",
                message="a process sees one instance and its share of the memory; instances cannot be "
                "joined for tensor "
                "parallelism"
                if count
                else "MIG is on but no compute instance exists, so CUDA finds no device on this GPU",
                required="the whole GPU, or an instance that is large enough"
                if count
                else "at least one compute instance",
                found=sizes or "no instance",
                fix="choose one with CUDA_VISIBLE_DEVICES=MIG-<uuid> (nvidia-smi -L), or switch MIG off: "
                f"nvidia-smi -i {gpu.index} -mig 0"
                if count
                else f"nvidia-smi mig -i {gpu.index} -cgi <profile> -C, or nvidia-smi -i {gpu.index} -mig 0",
                source=_SOURCE,
            )
        )
    return problems
