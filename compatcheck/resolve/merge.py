"""Findings from outside the matrix (a launch's own mistakes) joined to a verdict, and the worst of several verdicts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from compatcheck.resolve.verdict import BITES_ORDER, Assumption, Finding, Verdict, VerdictName

SEVERITY: dict[VerdictName, int] = {"unsupported": 0, "degraded": 1, "unknown": 2, "supported": 3}
"""Worst first; the same order as exit codes: findings win over unknown, unknown over fine."""
_EFFECTS = {"unsupported": 0, "degraded": 1, "note": 2}


def with_findings(
    verdict: Verdict, findings: Sequence[Finding], assumed: Sequence[Assumption] = (), missing: Sequence[str] = ()
) -> Verdict:
    """Return the verdict with more findings, named anew by the resolver's rule, and with more assumptions.

    `missing` is what else is not known: no verdict but a refusal stands without it.
    """
    if not findings and not assumed and not missing:
        return verdict
    every = sorted((*verdict.findings, *findings), key=lambda f: (_EFFECTS[f.effect], BITES_ORDER.index(f.bites)))
    effects = {finding.effect for finding in findings}
    name = verdict.verdict
    if "unsupported" in effects:
        name = "unsupported"
    elif missing and name != "unsupported":
        name = "unknown"
    elif "degraded" in effects and name == "supported":
        name = "degraded"
    stops = [finding.bites for finding in every if finding.effect == "unsupported"]
    told = {item.field for item in assumed}
    return msgspec.structs.replace(
        verdict,
        verdict=name,
        findings=tuple(every),
        missing=tuple(dict.fromkeys((*verdict.missing, *missing))),
        fails_at=stops[0] if stops else None,
        assumed=(*assumed, *(item for item in verdict.assumed if item.field not in told)),
    )


def worst(verdicts: Iterable[Verdict]) -> Verdict:
    """Return the worst verdict, the first of equals. Raises `ValueError` for none at all."""
    return min(verdicts, key=lambda verdict: SEVERITY[verdict.verdict])
