"""Verdicts of cells of which it is known already what each question answers: the resolver puts them together."""

from __future__ import annotations

from operator import itemgetter
from typing import TYPE_CHECKING

from compatcheck.resolve.normalise import Normalised

if TYPE_CHECKING:
    from collections.abc import Iterable

    from compatcheck.docs.space import Space
    from compatcheck.resolve.backend import Check
    from compatcheck.resolve.configuration import Configuration
    from compatcheck.resolve.resolver import Answered
    from compatcheck.resolve.verdict import Verdict


class Judging:
    """Judges cells of one backend at one release."""

    def __init__(self, space: Space, backend: str, release: str) -> None:
        self._resolver = space.resolver
        self._engine = space.resolver.engine(space.engine_name, release)
        self.program = self._engine.program(backend)
        self.release = release

    def of(
        self, facts: Configuration, checks: Iterable[tuple[Check, bool | None]], rules: Iterable[Answered]
    ) -> Verdict:
        """Return the verdict for complete facts.

        `checks` are those of the selector that refuse (True) or cannot tell (None), in its order, and `rules` those
        that hold or cannot tell, with their places; the others answer False.
        """
        resolver, engine = self._resolver, self._engine
        judgement = self.program.judgement([check.said(facts, says) for check, says in checks])
        asked = resolver.ask_selector(engine, facts, judgement)
        normal = Normalised(facts=facts, release=self.release, answered_as=None, assumed=())
        answered = sorted(rules, key=itemgetter(0))
        if asked.reached:
            return resolver.judge_asked(engine, asked, normal, answered)
        early = [one for one in answered if one[1].rule.bites == "config" and not one[1].rule.as_given]
        return resolver.judge_refused(asked, resolver.rule(early, facts, None), normal)
