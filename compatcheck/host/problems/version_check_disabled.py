"""FLASHINFER_DISABLE_VERSION_CHECK set: over a mismatch it hides a fault, without one it is not needed."""

from __future__ import annotations

from compatcheck.host.model import Host, Problem
from compatcheck.host.problems.facts import flashinfer_version
from compatcheck.host.problems.kernel_wheels import (
    check_disabled,
    cubin_mismatch,
    jit_cache_mismatch,
    provider_mismatches,
)

_FORCED = "https://github.com/lightseekorg/tokenspeed/pull/284"


def check(host: Host) -> list[Problem]:
    """Report the variable as an error over a mismatch, else as unneeded."""
    if not check_disabled(host) or flashinfer_version(host) is None:
        return []
    found = [cubin_mismatch(host), jit_cache_mismatch(host), *provider_mismatches(host)]
    mismatches = [item for item in found if item is not None]
    value = host.environment["FLASHINFER_DISABLE_VERSION_CHECK"]
    shown = f"FLASHINFER_DISABLE_VERSION_CHECK={'…' if value is None else value}"
    if not mismatches:
        return [
            Problem(
                code="flashinfer-version-check-disabled",
                severity="info",
                who="FLASHINFER_DISABLE_VERSION_CHECK",
                message="the variable is not needed here, and would hide a mismatch after the next upgrade",
                required="unset: no installed kernel wheel differs from FlashInfer",
                found=shown + (" (any non-empty value switches the check off, 0 too)" if value == "0" else ""),
                fix="unset FLASHINFER_DISABLE_VERSION_CHECK",
                source="flashinfer/jit/env.py:_check_cubin_version@0.7.2",
            )
        ]
    return [
        Problem(
            code="flashinfer-version-check-bypassed",
            severity="error",
            who="FLASHINFER_DISABLE_VERSION_CHECK",
            message="binaries of another release are loaded: illegal memory accesses and missing kernels were reported",
            required="; ".join(f"{item.name} {item.required}" for item in mismatches),
            found="; ".join(f"{item.name} {item.found}" for item in mismatches) + f", with {shown}",
            fix="install the matching wheels ("
            + ", ".join(f"{item.name} {item.required}" for item in mismatches)
            + "), then unset FLASHINFER_DISABLE_VERSION_CHECK",
            source=_FORCED,
        )
    ]
