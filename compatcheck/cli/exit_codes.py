"""Exit codes, the same everywhere."""

from __future__ import annotations

from collections.abc import Iterable

FINE = 0
FINDINGS = 1
USAGE = 2
UNKNOWN = 3
INTERNAL = 4
GONE = 141
"""Whoever read the output went away: what a shell says of a program that SIGPIPE ends, since nothing is decided."""

_OF_VERDICT = {"supported": FINE, "degraded": FINDINGS, "unsupported": FINDINGS, "unknown": UNKNOWN}


def of_verdicts(verdicts: Iterable[str]) -> int:
    """Return the exit code for these verdicts: findings win over unknown, unknown over fine."""
    codes = {_OF_VERDICT[name] for name in verdicts}
    return FINDINGS if FINDINGS in codes else (UNKNOWN if UNKNOWN in codes else FINE)
