"""GPUs of different kinds in one host."""

from __future__ import annotations

from compatcheck.host.model import Host, Problem


def check(host: Host) -> list[Problem]:
    """Report usable GPUs that differ: worth knowing, and a warning while CUDA may order them by speed."""
    gpus = host.usable_gpus()
    names = list(dict.fromkeys(gpu.name for gpu in gpus if gpu.name))
    if len(names) < 2:
        return []
    ordered = host.environment.get("CUDA_DEVICE_ORDER") == "PCI_BUS_ID"
    sms = host.sms()
    several = (
        "they need different kernels and can differ in what they support: one server on both works only where both do"
        if len(sms) > 1
        else "they have the same compute capability but not the same memory"
    )
    return [
        Problem(
            code="mixed-gpus",
            severity="info" if ordered else "warning",
            who="CUDA and vLLM",
            message=several
            + ("" if ordered else "; CUDA numbers the fastest GPU 0, nvidia-smi and vLLM number by PCI slot"),
            required="one kind of GPU per server process, chosen by an index that means the same everywhere",
            found=", ".join(f"GPU {gpu.index} {gpu.name} (SM {gpu.sm})" for gpu in gpus),
            fix=("" if ordered else "set CUDA_DEVICE_ORDER=PCI_BUS_ID, and ")
            + "choose the GPUs of a server with CUDA_VISIBLE_DEVICES",
            source="vllm/platforms/cuda.py:NvmlCudaPlatform.log_warnings@0.33.0",
        )
    ]
