"""Which cells of a backend's table get the same answer: those in which the same questions hold, or are open."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compatcheck.docs.bitmaps import Bitmaps
from compatcheck.docs.question import Questions

if TYPE_CHECKING:
    from collections.abc import Hashable

    from compatcheck.docs.formula import Formula

Signature = tuple["Hashable", ...]
"""Labels of what holds, or is open, in some cells: equal ones mean equal answers, also at other releases."""


class Marks:
    """Marks the cells of a table with what can show in their answers, and nothing that cannot."""

    def __init__(self, questions: Questions, bitmaps: Bitmaps) -> None:
        self._questions = questions
        self._bitmaps = bitmaps
        self._marks: list[tuple[Hashable, int]] = []

    def groups(self, cells: int) -> list[tuple[int, Signature]]:
        """Return cells in groups that get the same answer, and what marks each group."""
        goes_on = self._selector(cells)
        routes = self._routes(goes_on)
        self._kernels(routes, self._rules(cells, goes_on, routes))
        base: Signature = (self._questions.unimportable, self._questions.answered_by_model)
        groups = [(cells, base)] if cells else []
        for label, mask in self._marks:
            parted: list[tuple[int, Signature]] = []
            for group, signature in groups:
                inside = group & mask
                if not inside:
                    parted.append((group, signature))
                    continue
                parted.append((inside, (*signature, label)))
                if inside != group:
                    parted.append((group & ~mask, signature))
            groups = parted
        return groups

    def _mark(self, label: Hashable, cells: int) -> None:
        if cells:
            self._marks.append((label, cells))

    def _open(self, label: Hashable, formula: Formula, cells: int) -> None:
        """Mark where a formula is unknown; what is missing there depends on which of its parts are."""
        holds, may = self._bitmaps.of(formula)
        cells &= may & ~holds
        if cells:
            self._mark((label, "open", formula.number), cells)
            for place, mask in enumerate(self._bitmaps.unknowns(formula)):
                self._mark((label, "open", formula.number, place), mask & cells)

    def _selector(self, cells: int) -> int:
        """Mark what the selector says; return the cells in which a start may go on."""
        questions, of = self._questions, self._bitmaps.of
        if questions.unimportable:
            return 0
        left = cells
        for check in questions.checks:
            if check.imports:  # no other check is asked then
                self._mark(check.label, of(check.refuses)[0] & left)
                left &= ~of(check.refuses)[0]
        refused, unanswered = cells & ~left, cells & ~left
        for check in questions.checks:
            holds = of(check.refuses)[0] & left
            if not check.imports:
                self._mark(check.label, holds)
            self._open(check.label, check.refuses, left)
            refused |= holds
            if check.code not in questions.answered_by_model:
                unanswered |= holds
        unasked = of(questions.unasked)[0] & refused
        self._mark("unasked", unasked)
        return (cells & ~refused) | (unasked & ~unanswered)

    def _routes(self, cells: int) -> dict[str, int]:
        """Mark the routes that are taken; return where each is."""
        places, open_ = self._bitmaps.choice(self._questions.routing)
        found: dict[str, int] = {}
        for route, where in places.items():
            here = where & cells & ~open_
            self._mark(("route", route), here)
            if route is not None:
                found[str(route)] = here
        self._mark(("route", "open"), open_ & cells)
        for place, mask in enumerate(self._bitmaps.unknowns(self._questions.routing)):
            self._mark(("route", "open", self._questions.routing.number, place), mask & open_ & cells)
        return found

    def _rules(self, cells: int, goes_on: int, routes: dict[str, int]) -> dict[str, int]:
        """Mark what rules say; return where rules speak of each kernel."""
        uses = {route: {phase.kernel for phase in phases} for route, phases in self._questions.kernels}
        spoken: dict[str, int] = {}
        for rule in self._questions.rules:
            scope = cells if rule.early else goes_on
            if rule.kernels:
                taken = 0
                for route, where in routes.items():
                    if not rule.kernels.isdisjoint(uses[route]):
                        taken |= where
                scope &= taken
            holds = self._bitmaps.of(rule.holds)[0] & scope
            self._mark(rule.code, holds)
            self._mark((rule.code, "at start"), holds & self._bitmaps.of(rule.at_start)[0])
            for kernel in rule.kernels:
                spoken[kernel] = spoken.get(kernel, 0) | holds
            if not rule.note:
                self._open(rule.code, rule.holds, scope)
        return spoken

    def _kernels(self, routes: dict[str, int], spoken: dict[str, int]) -> None:
        """Mark what the library says of the calls on each route."""
        of = self._bitmaps.of
        for route, phases in self._questions.kernels:
            for phase in phases:
                calls = routes.get(route, 0)
                covered = spoken.get(phase.kernel, 0) & calls
                holds, may = of(phase.present)
                self._mark((phase.kernel, "absent"), calls & ~may)
                self._mark((phase.kernel, "uncertain"), calls & may & ~holds)
                calls &= may | covered
                for place, refusal in enumerate(phase.refusals):
                    holds, _ = of(refusal)
                    self._mark((phase.kernel, "refuses", place), calls & holds)
                    calls &= ~holds
                calls &= ~covered
                for place, takes in enumerate(phase.takes):
                    self._mark((phase.kernel, "takes not", place), calls & ~of(takes)[1])
                    self._open((phase.kernel, place), takes, calls)
