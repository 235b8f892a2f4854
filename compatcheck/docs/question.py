"""What decides a backend's answers at a release: which questions there are, and where each holds."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from compatcheck.docs.formula import Formula
from compatcheck.docs.kernel_questions import PhaseQuestions

if TYPE_CHECKING:
    from collections.abc import Hashable

    from compatcheck.resolve.backend import Check
    from compatcheck.resolve.rules import RuleProgram


class CheckQuestion(NamedTuple):
    """A check of the selector. `label` is equal for checks that refuse in the same words for the same reasons."""

    label: Hashable
    code: str
    imports: bool
    refuses: Formula


class RuleQuestion(NamedTuple):
    """A rule outside the selector; `early` where it bites before it, `at_start` where a moment that depends is init."""

    code: str
    early: bool
    note: bool
    kernels: frozenset[str]
    holds: Formula
    at_start: Formula


class Questions(NamedTuple):
    """What decides a backend's answers at a release."""

    unimportable: str | None
    answered_by_model: frozenset[str]
    checks: tuple[CheckQuestion, ...]
    unasked: Formula
    rules: tuple[RuleQuestion, ...]
    routing: Formula
    kernels: tuple[tuple[str, tuple[PhaseQuestions, ...]], ...]
    """Route that may be taken -> what its kernels say, in the order of phases."""

    def formulas(self) -> list[Formula]:
        """Return all formulas."""
        found = [check.refuses for check in self.checks] + [rule.holds for rule in self.rules]
        found += [rule.at_start for rule in self.rules]
        found += [self.unasked, self.routing]
        return found + [formula for _, phases in self.kernels for phase in phases for formula in phase.formulas()]


class Asked(NamedTuple):
    """The questions of a backend at a release, and what the resolver asks them with."""

    questions: Questions
    checks: tuple[Check, ...]
    """Of each question to the selector, the check."""
    rules: tuple[tuple[int, RuleProgram], ...]
    """Of each question about a rule, the rule, and its place among those that are asked with it."""
