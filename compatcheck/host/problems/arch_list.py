"""FLASHINFER_CUDA_ARCH_LIST that FlashInfer cannot read, or that leaves a GPU out."""

from __future__ import annotations

import re

from compatcheck.host.model import Host, Problem

_SOURCE = "flashinfer/compilation_context.py:CompilationContext.__init__@0.7.2.post1"
_NAME = "FLASHINFER_CUDA_ARCH_LIST"


def check(host: Host) -> list[Problem]:
    """Read the list as FlashInfer does: entries like 9.0, 9.0a or 12.0f, one space between them."""
    value = host.environment.get(_NAME)
    if value is None or "flashinfer-python" not in host.packages:
        return []
    entries = value.split(" ")
    wrong = [entry for entry in entries if not re.fullmatch(r"\d+\.(\d+|\w*[A-Za-z])", entry)]
    if wrong:
        return [
            Problem(
                code="flashinfer-arch-list-malformed",
                severity="error",
                who="FlashInfer, at import",
                message="`import flashinfer` raises ValueError while it reads the list",
                required="compute capabilities with one space between them, such as '9.0a 12.0f'",
                found=f"{_NAME}={value!r}",
                fix=f"export {_NAME}='{' '.join(_likely(value)) or '9.0a'}', or unset it",
                source=_SOURCE,
            )
        ]
    left_out = [sm for sm in host.sms() if not any(_covers(entry, sm) for entry in entries)]
    if not left_out:
        return []
    return [
        Problem(
            code="flashinfer-arch-list-without-gpu",
            severity="warning",
            who="FlashInfer's kernel build",
            message="kernels are compiled for the listed architectures only and do not run on the GPU that is here",
            required=f"SM {', '.join(left_out)} in {_NAME}",
            found=f"{_NAME}={value!r}",
            fix=f"unset {_NAME}, or add {', '.join(left_out)}",
            source=_SOURCE,
        )
    ]


def _covers(entry: str, sm: str) -> bool:
    """Return whether code for a listed architecture runs on an SM.

    Code for an `a` target runs on that very minor, all other code on newer minors too. FlashInfer adds the `a` to
    a bare entry from 9.x on, but an `f` to 12.0 (compilation_context.py:_normalize_cuda_arch@0.7.2.post1).
    """
    major, _, rest = entry.partition(".")
    minor = rest.rstrip("".join(set(rest) - set("0123456789")))
    gpu_major, _, gpu_minor = sm.partition(".")
    if major != gpu_major or not minor.isdigit():
        return False
    suffix = rest[len(minor) :]
    exact = suffix == "a" or (not suffix and int(major) >= 9 and entry != "12.0")
    return int(minor) == int(gpu_minor) if exact else int(minor) <= int(gpu_minor)


def _likely(value: str) -> list[str]:
    return re.findall(r"\d+\.\d+[af]?", value)
