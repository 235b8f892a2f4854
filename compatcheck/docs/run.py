"""Releases that are one to a backend, with what decides its answers at them."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from compatcheck.docs.bitmaps import Bitmaps
from compatcheck.docs.judging import Judging

if TYPE_CHECKING:
    from collections.abc import Mapping

    from compatcheck.docs.formula import Formula
    from compatcheck.docs.question import Asked
    from compatcheck.docs.sheets import Part
    from compatcheck.docs.space import Space
    from compatcheck.resolve.backend import Check
    from compatcheck.resolve.resolver import Answered


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

    def answers(self, cell: int) -> tuple[list[tuple[Check, bool | None]], list[Answered]]:
        """Return the checks that refuse a cell or cannot tell, and the rules that hold for it or cannot tell."""
        at, questions = self.bitmaps.at, self.asked.questions
        checks = zip(questions.checks, self.asked.checks, strict=True)
        rules = zip(questions.rules, self.asked.rules, strict=True)
        return (
            [(check, says) for one, check in checks if (says := at(one.refuses, cell)) is not False],
            [(place, rule, holds) for one, (place, rule) in rules if (holds := at(one.holds, cell)) is not False],
        )
