"""The parts that a verdict is put together from, each made once for the facts it depends on, compared by identity."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compatcheck.resolve.verdict import (
    BITES_ORDER,
    Finding,
    MlaPrefill,
    RouteAnswer,
    Verdict,
    VerdictName,
)

if TYPE_CHECKING:
    from compatcheck.resolve.engine import Selection
    from compatcheck.resolve.judgement import Judgement
    from compatcheck.resolve.normalise import Normalised


class Asked:
    """What the engine's selector says of the backend that is forced, or of all of them."""

    __slots__ = ("accepts", "findings", "missing", "passes", "reached", "reasons", "selected", "selection", "used")

    def __init__(
        self,
        forced: str | None,
        judgement: Judgement | None,
        selection: Selection | None,
        findings: tuple[Finding, ...],
        *,
        unasked: bool = False,
    ) -> None:
        self.selection = selection
        self.findings = findings
        self.accepts: bool | None = False
        self.reasons: tuple[str, ...] = ()
        self.missing: frozenset[str] = frozenset()
        self.selected: str | None = None
        self.used = forced
        """The backend whose route and rules are asked next."""
        if judgement is not None:
            self.accepts, self.reasons, self.missing = judgement.accepted, judgement.words, judgement.missing
            if unasked:
                self.missing = frozenset()
            self.selected = forced if self.accepts or unasked else None
        elif selection is not None:
            self.accepts, self.missing = selection.accepts, selection.missing
            self.selected = self.used = selection.selected
        self.passes = True if unasked else self.accepts
        """Whether a start goes on: as the selector says, unless the model does not ask it."""
        self.reached = self.passes is not False and self.used is not None
        """Whether a start gets past the selector, as far as can be told."""


class Taken:
    """The route that a configuration takes, or what is missing to tell."""

    __slots__ = ("answer", "missing")

    def __init__(self, answer: RouteAnswer | None, missing: frozenset[str]) -> None:
        self.answer = answer
        self.missing = missing


class Ruled:
    """What the rules outside the selector say."""

    __slots__ = ("findings", "kernels", "missing")

    def __init__(self, findings: tuple[Finding, ...], missing: frozenset[str], kernels: frozenset[str]) -> None:
        self.findings = findings
        self.missing = missing
        self.kernels = kernels
        """Kernels of which a rule that holds has spoken: the library need not be asked again."""


class Library:
    """What the library says of the route's kernels, and which call nobody has stated."""

    __slots__ = ("findings", "missing", "untested")

    def __init__(self, findings: tuple[Finding, ...], untested: str | None, missing: frozenset[str]) -> None:
        self.findings = findings
        self.untested = untested
        self.missing = missing


NO_ROUTE = Taken(None, frozenset())
NOTHING_SAID = Library((), None, frozenset())

EFFECT_ORDER = {"unsupported": 0, "degraded": 1, "note": 2}

_WEIGHTS: dict[tuple[str, str], int] = {
    (effect, bites): rank * len(BITES_ORDER) + step
    for effect, rank in EFFECT_ORDER.items()
    for step, bites in enumerate(BITES_ORDER)
}


def assemble(
    asked: Asked, route: Taken, prefill: Selection | None, ruled: Ruled, library: Library, normal: Normalised
) -> Verdict:
    """Return the verdict that the parts amount to; findings are ordered by `_weight`."""
    findings = sorted((*asked.findings, *ruled.findings, *library.findings), key=_weight)
    missing = asked.missing | route.missing | ruled.missing | library.missing
    first = findings[0] if findings else None
    untested = library.untested if first is None or first.effect == "note" else None
    selection = asked.selection
    return Verdict(
        verdict=verdict_name(asked.passes, findings, missing, untested),
        engine_accepts=asked.accepts,
        engine_reasons=asked.reasons,
        selected=asked.selected,
        candidates=selection.candidates if selection else None,
        rejected=selection.rejected if selection else None,
        mla_prefill=MlaPrefill(selected=prefill.selected, candidates=prefill.candidates, rejected=prefill.rejected)
        if prefill
        else None,
        route=route.answer,
        fails_at=first.bites if first is not None and first.effect == "unsupported" else None,
        findings=tuple(findings),
        missing=tuple(sorted(missing)),
        untested=untested,
        assumed=normal.assumed,
        answered_as=normal.answered_as,
    )


def _weight(finding: Finding) -> int:
    """Order findings: the gravest effect first, and of those what bites first."""
    return _WEIGHTS[finding.effect, finding.bites]


def verdict_name(
    accepts: bool | None, findings: list[Finding], missing: frozenset[str], untested: str | None
) -> VerdictName:
    """Return the verdict that follows: a refusal first, then what cannot be told, then what runs badly."""
    if accepts is False:
        return "unsupported"
    effects = {f.effect for f in findings}
    if "unsupported" in effects:
        return "unsupported"
    if accepts is None or missing or untested:
        return "unknown"
    return "degraded" if "degraded" in effects else "supported"
