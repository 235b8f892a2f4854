"""What a backend says of features: what a feature changes is asked, all else is as it is without the feature."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from compatcheck.docs.cells import cell_of
from compatcheck.docs.features import QUESTIONS
from compatcheck.resolve.kernel import CALLED

if TYPE_CHECKING:
    from compatcheck.docs.judging import Judging
    from compatcheck.docs.reasons import Reasons
    from compatcheck.docs.sheets import Cell
    from compatcheck.docs.space import Space
    from compatcheck.resolve.backend import Check
    from compatcheck.resolve.configuration import Configuration
    from compatcheck.resolve.resolver import Answered


class FeatureAnswers:
    """Answers `QUESTIONS` for one backend at one release, each on top of a cell that is answered already."""

    def __init__(self, space: Space, backend: str, judging: Judging, reasons: Reasons) -> None:
        self._judging = judging
        self._reasons = reasons
        program = judging.program
        rules = space.asker.placed(space.rules_of(backend), judging.release)
        routing = space.resolver.engine(space.engine_name, judging.release).routing
        beside = {*CALLED, *routing.fields, *program.unasked.fields, *program.pages.fields}
        fields = {field for field, _ in QUESTIONS}
        self._always = fields & beside
        """Fields that show in an answer even where no check or rule looks at them."""
        self._checks = {field: [check for check in program.checks if field in check.told] for field in fields}
        self._rules = {field: [placed for placed in rules if field in placed[1].told] for field in fields}
        self._order = {id(check): place for place, check in enumerate(program.checks)}

    def of(
        self, facts: Configuration, checks: list[tuple[Check, bool | None]], rules: list[Answered], cell: Cell
    ) -> tuple[Cell, ...]:
        """Return a cell for each of `QUESTIONS`.

        Without a feature the configuration is `facts`, its cell `cell`, and these checks and rules answer other than
        False.
        """
        found: list[Cell] = []
        for field, value in QUESTIONS:
            asked = cell
            if getattr(facts, field) != value:
                changed = msgspec.structs.replace(facts, **{field: value})
                refusing = self._refusing(field, changed, checks)
                holding = self._holding(field, changed, rules)
                if field in self._always or refusing is not None or holding is not None:
                    refusing = checks if refusing is None else refusing
                    verdict = self._judging.of(changed, refusing, rules if holding is None else holding)
                    asked = cell_of(verdict, self._reasons, self._judging.program, changed)
            found.append(asked)
        return tuple(found)

    def _refusing(
        self, field: str, facts: Configuration, checks: list[tuple[Check, bool | None]]
    ) -> list[tuple[Check, bool | None]] | None:
        """Return the checks that refuse or cannot tell where a field is changed; None where all is as before."""
        looking = self._checks[field]
        new = [(check, says) for check in looking if (says := check.refuses(facts)) is not False]
        old = [one for one in checks if one[0] in looking]
        if not new and not old:
            return None
        kept = [one for one in checks if one[0] not in looking]
        return sorted([*kept, *new], key=lambda one: self._order[id(one[0])])

    def _holding(self, field: str, facts: Configuration, rules: list[Answered]) -> list[Answered] | None:
        """Return the rules that hold or cannot tell where a field is changed; None where all is as before."""
        looking = self._rules[field]
        new = [(place, rule, holds) for place, rule in looking if (holds := rule.holds(facts)) is not False]
        programs = {id(rule) for _, rule in looking}
        kept = [one for one in rules if id(one[1]) not in programs]
        return None if not new and len(kept) == len(rules) else [*kept, *new]
