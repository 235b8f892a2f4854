"""flashinfer-jit-cache, or one of its per-GPU providers, of another version."""

from __future__ import annotations

from compatcheck.host.model import Host, Problem, Severity
from compatcheck.host.problems.facts import wheel_fix
from compatcheck.host.problems.kernel_wheels import (
    Reaction,
    check_disabled,
    jit_cache_mismatch,
    provider_mismatches,
)

_REACTIONS: dict[Reaction, tuple[Severity, str, str]] = {
    "raises": (
        "error",
        "`import flashinfer` raises RuntimeError, and with it everything that uses FlashInfer fails",
        "flashinfer/jit/env.py:_get_aot_dir@0.6.18.post1, _check_jit_cache_version@0.7.1",
    ),
    "ignores": (
        "warning",
        "the wheel is ignored with a warning: kernels are compiled at first use instead",
        "flashinfer/jit/env.py:_get_aot_providers@0.7.2",
    ),
    "uses": (
        "error",
        "the library compares only the beginning of the version, so kernels of another release are loaded",
        "flashinfer/jit/env.py:_get_aot_dir@0.6.18.post1",
    ),
}


def check(host: Host) -> list[Problem]:
    """Report jit-cache wheels that do not belong to the installed FlashInfer. +cu130 and the like belong."""
    problems = []
    mismatch = jit_cache_mismatch(host)
    if mismatch is not None and not check_disabled(host):
        severity, message, source = _REACTIONS[mismatch.reaction]
        problems.append(
            Problem(
                code="flashinfer-jit-cache-mismatch",
                severity=severity,
                who="FlashInfer, at import",
                message=message,
                required=f"flashinfer-jit-cache {mismatch.required} (a local part such as +cu130 may follow)",
                found=f"flashinfer-jit-cache {mismatch.found}",
                fix=wheel_fix("flashinfer-jit-cache", mismatch.required),
                source=source,
            )
        )
    problems += [
        Problem(
            code="flashinfer-jit-cache-provider-mismatch",
            severity="warning",
            who="FlashInfer, at import",
            message="the provider is ignored with a warning: its kernels are compiled at first use instead",
            required=f"{provider.name} {provider.required}, exactly as flashinfer-jit-cache, local part included",
            found=f"{provider.name} {provider.found}",
            fix=wheel_fix(provider.name, provider.required),
            source="flashinfer/jit/env.py:_check_jit_cache_provider_version@0.7.0",
        )
        for provider in provider_mismatches(host)
        if provider.reaction == "ignores"
    ]
    return problems
