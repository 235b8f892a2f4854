"""Releases that are one to a backend, with what decides its answers at them."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from compatcheck.docs.bitmaps import Bitmaps, Truth
from compatcheck.docs.judging import Judging

if TYPE_CHECKING:
    from collections.abc import Mapping

    from compatcheck.docs.formula import Formula
    from compatcheck.docs.question import Asked
    from compatcheck.docs.sheets import Part
    from compatcheck.docs.space import Space
    from compatcheck.resolve.backend import Check
    from compatcheck.resolve.resolver import Answered
    from compatcheck.resolve.rules import RuleProgram


class Run:
    """Releases that differ in nothing a backend depends on; `leader` is the one that answers for them."""

    def __init__(self, space: Space, backend: str, leader: str, asked: Asked, spans: Mapping[str, slice]) -> None:
        self.leader = leader
        self.asked = asked
        self.accepted = frozenset(space.kv_of(leader))
        self.part: Part | None = None
        self._made = (space, backend, spans)

    @cached_property
    def judging(self) -> Judging:
        """Judges cells at the leader."""
        space, backend, _ = self._made
        return Judging(space, backend, self.leader)

    @cached_property
    def accepts(self) -> Formula:
        """Where the leader accepts the KV-cache dtype."""
        space, _, _ = self._made
        return space.asker.formulas.vector("kv", [kv in self.accepted for kv in space.kv_dtypes])

    @cached_property
    def bitmaps(self) -> Bitmaps:
        """Where its questions hold."""
        return Bitmaps(self._made[2], [self.accepts, *self.asked.questions.formulas()])

    @cached_property
    def _answers(self) -> tuple[list[tuple[Truth, Check]], list[tuple[Truth, tuple[int, RuleProgram]]]]:
        """Each check and each rule that may be other than False somewhere, with where it is."""
        of, questions = self.bitmaps.of, self.asked.questions
        checks = zip([of(question.refuses) for question in questions.checks], self.asked.checks, strict=True)
        rules = zip([of(question.holds) for question in questions.rules], self.asked.rules, strict=True)
        return [one for one in checks if one[0][1]], [one for one in rules if one[0][1]]

    def answers(self, cell: int) -> tuple[list[tuple[Check, bool | None]], list[Answered]]:
        """Return the checks that refuse a cell or cannot tell, and the rules that hold for it or cannot tell."""
        checks, rules = self._answers
        return (
            [(check, True if holds >> cell & 1 else None) for (holds, may), check in checks if may >> cell & 1],
            [
                (place, rule, True if holds >> cell & 1 else None)
                for (holds, may), (place, rule) in rules
                if may >> cell & 1
            ],
        )
