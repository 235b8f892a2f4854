"""flashinfer-cubin of another version than flashinfer-python."""

from __future__ import annotations

from compatcheck.host.model import Host, Problem
from compatcheck.host.problems.facts import wheel_fix
from compatcheck.host.problems.kernel_wheels import cubin_mismatch


def check(host: Host) -> list[Problem]:
    """Report a mismatch that FlashInfer refuses (before 0.7.2) or answers by ignoring the wheel (since)."""
    mismatch = cubin_mismatch(host)
    if mismatch is None or mismatch.reaction == "uses":
        return []
    raises = mismatch.reaction == "raises"
    return [
        Problem(
            code="flashinfer-cubin-mismatch",
            severity="error" if raises else "warning",
            who="FlashInfer, at import",
            message="`import flashinfer` raises RuntimeError, and with it everything that uses FlashInfer fails"
            if raises
            else "the wheel is ignored with a warning: cubins are downloaded on demand, and missing without a network",
            required=f"flashinfer-cubin {mismatch.required}",
            found=f"flashinfer-cubin {mismatch.found}",
            fix=wheel_fix("flashinfer-cubin", mismatch.required),
            source="flashinfer/jit/env.py:_get_cubin_dir@0.6.15"
            if raises
            else "flashinfer/jit/env.py:_get_cubin_dir@0.7.2",
        )
    ]
