"""How much of what the matrix declares was run, and what came of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import msgspec

from compatcheck.smoke.outcome import Judged


class Coverage(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Counts of cells. `unavailable` maps what was missing to a count; `not_run` were never started."""

    declared: int
    run: int = 0
    confirmed: int = 0
    refused_as_declared: int = 0
    contradicted: int = 0
    unproven: int = 0
    unavailable: dict[str, int] = {}
    not_run: int = 0

    def line(self, sm: str) -> str:
        """Return the one line that a run ends with."""
        missing = ", ".join(f"{what}: {count}" for what, count in sorted(self.unavailable.items()))
        where = "this CPU" if sm == "cpu" else f"SM {sm}"
        return (
            f"{self.declared} cells declared for {where}: {self.run} run, {self.confirmed} confirmed "
            f"(of these {self.refused_as_declared} refused as declared), {self.contradicted} contradicted, "
            f"{sum(self.unavailable.values())} unavailable{f' ({missing})' if missing else ''}, "
            f"{self.unproven} unproven, {self.not_run} not run"
        )


def coverage(declared: int, judged: Iterable[Judged]) -> Coverage:
    """Count, of so many declared cells. Unavailable ones are not among the unproven; skipped ones count as not run."""
    kept = {j.result.id: j for j in judged if j.result.outcome != "skipped"}
    unavailable: Counter[str] = Counter()
    counts: Counter[str] = Counter()
    refused = 0
    for item in kept.values():
        if item.result.outcome == "unavailable" and item.judgement != "confirmed":
            unavailable[item.result.missing or "unknown"] += 1
            continue
        counts[item.judgement] += 1
        refused += item.judgement == "confirmed" and item.expected.kind in ("refused", "compile-error")
    return Coverage(
        declared=declared,
        run=len(kept),
        confirmed=counts["confirmed"],
        refused_as_declared=refused,
        contradicted=counts["contradicted"],
        unproven=counts["unproven"],
        unavailable=dict(unavailable),
        not_run=declared - len(kept),
    )
