"""torch missing, built without CUDA, or built for a CUDA that does not know the GPU."""

from __future__ import annotations

from compatcheck.host.model import Host, Problem
from compatcheck.host.problems.facts import named, version_of
from compatcheck.matrix.versions import parse

_NEEDS_12_8 = ("10.0", "12.0", "12.1")
_IMAGE = "https://github.com/vllm-project/production-stack/issues/528"


def check(host: Host) -> list[Problem]:
    """Report what is wrong with torch for the packages and GPUs that are here."""
    torch = host.packages.get("torch")
    users = [name for name in ("vllm", "flashinfer-python") if name in host.packages]
    if torch is None:
        if not users:
            return []
        return [
            Problem(
                code="torch-missing",
                severity="error",
                who=" and ".join(users),
                message="both import torch first" if len(users) > 1 else "it imports torch first",
                required="torch",
                found="no torch on the search path",
                fix=f"pip install 'torch{_wanted(host)}'",
                source="flashinfer_python METADATA:Requires-Dist@0.7.2.post1",
            )
        ]
    if not host.gpus:
        return []
    if torch.cuda is None and torch.module_version is not None:
        kind = f"ROCm {torch.rocm}" if torch.rocm else "CPU-only"
        return [
            Problem(
                code="torch-not-for-cuda",
                severity="error",
                who="torch",
                message="torch.cuda.is_available() is false whatever the driver",
                required="a torch built for CUDA, on a host with an NVIDIA GPU",
                found=f"{named(host, 'torch')}, a {kind} build",
                fix="reinstall torch from the CUDA index of your driver's CUDA version (+cu130, +cu129, ...)",
                source="torch/version.py:cuda@2.13.0+cpu",
            )
        ]
    built = version_of(torch.cuda)
    too_new = [sm for sm in host.sms() if sm in _NEEDS_12_8]
    if built is None or built >= parse("12.8") or not too_new:
        return []
    names = ", ".join(dict.fromkeys(gpu.name or "GPU" for gpu in host.usable_gpus() if gpu.sm in too_new))
    return [
        Problem(
            code="torch-too-old-for-gpu",
            severity="error",
            who="torch, at the first CUDA operation",
            message="'no kernel image is available for execution on the device'",
            required=f"a torch for CUDA >= 12.8 on {names} (SM {', '.join(too_new)})",
            found=f"{named(host, 'torch')} for CUDA {torch.cuda}",
            fix="reinstall torch from a +cu128 or newer index" + (", as vLLM pins it" if "vllm" in users else ""),
            source=f"{_IMAGE}; ptxas --help of CUDA 12.8.93",
        )
    ]


def _wanted(host: Host) -> str:
    vllm = host.packages.get("vllm")
    return vllm.requires.get("torch", "") if vllm else ""
