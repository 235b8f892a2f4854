"""Which refusals of the selector are the same for sure: the same checks refuse, and nothing else is in play."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from operator import itemgetter
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from compatcheck.docs.classes import ReleaseView
    from compatcheck.resolve.configuration import Configuration
    from compatcheck.resolve.rules import RuleProgram

_PLACES = {"sm": 0, "shape": 1, "sink": 2, "fi": 3}

FactsAt = Callable[[str, str, tuple[int, ...]], "Configuration"]
"""Gives the configuration of a release, a KV-cache dtype and positions on the axes SM, shape, sink, FlashInfer."""

_Refusal = tuple[int, tuple[str, str, int], bool]
"""A check's place in the selector's order, what makes it the same as another release's, whether it is about imports."""

_Answer = tuple[_Refusal | None, ...]
"""Which questions of a group hold; None for one that is no check of the selector."""


class _Question(NamedTuple):
    holds: Callable[[Any], bool | None]
    refusal: _Refusal | None = None


class Refusing:
    """The checks of a backend at a release, each asked once per values of the axes that it looks at.

    The selector's checks are independent of each other: which of them refuse is put together from the answers of
    those that look at the same axes.
    """

    def __init__(self, view: ReleaseView, backend: str, rules: list[RuleProgram], facts_at: FactsAt) -> None:
        self._release = view.release
        self._facts_at = facts_at
        program = view.engine.program(backend)
        self._imported = not program.facts["unimportable"]
        groups: dict[tuple[int, ...], list[_Question]] = {}

        def add(question: _Question, fields: Iterable[str]) -> None:
            groups.setdefault(_places(view, fields), []).append(question)

        for place, check in enumerate(program.checks):
            said = (check.code, check.words, view.walker.look(check).number)
            add(_Question(check.refuses, (place, said, check.imports)), check.fields)
        for rule in rules:
            if rule.rule.bites == "config":
                add(_Question(_may(rule)), rule.fields)
        add(_Question(program.unasked.test), program.unasked.fields)
        self._groups = [(_getter(places), questions) for places, questions in groups.items()]
        self._known: dict[str, list[dict[Any, _Answer]]] = {}
        self._joined: dict[tuple[_Answer, ...], tuple[Any, ...] | None] = {}

    def alike(self, kv: str, at: tuple[int, ...]) -> tuple[Any, ...] | None:
        """Return what is equal for configurations that get the same refusal.

        None where nothing refuses, where an earlier rule may speak, or where the model may not ask the selector.
        """
        if not self._imported:
            return None
        known = self._known.get(kv)
        if known is None:
            known = self._known[kv] = [{} for _ in self._groups]
        answers: list[_Answer] = []
        for (places, questions), of_group in zip(self._groups, known, strict=True):
            key = places(at)
            answer = of_group.get(key)
            if answer is None:
                facts = self._facts_at(self._release, kv, at)
                answer = of_group[key] = tuple([q.refusal for q in questions if q.holds(facts)])
            answers.append(answer)
        together = tuple(answers)
        if together not in self._joined:
            self._joined[together] = _join(together)
        return self._joined[together]


def _getter(places: tuple[int, ...]) -> Callable[[tuple[int, ...]], Any]:
    return itemgetter(*places) if places else lambda at: None


def _places(view: ReleaseView, fields: Iterable[str]) -> tuple[int, ...]:
    """Return which of SM, shape, sink and FlashInfer version decide fields; the KV-cache dtype is apart."""
    axes = {view.axes.get(field) for field in fields}
    return tuple([place for axis, place in _PLACES.items() if axis in axes])


def _may(rule: RuleProgram) -> Callable[[Any], bool]:
    return lambda facts: rule.holds(facts) is not False


def _join(answers: tuple[_Answer, ...]) -> tuple[Any, ...] | None:
    refusals = [refusal for answer in answers for refusal in answer]
    if not refusals or None in refusals:
        return None
    in_order = sorted([refusal for refusal in refusals if refusal is not None], key=itemgetter(0))
    imports = [refusal for refusal in in_order if refusal[2]]
    # A backend that cannot be imported is refused for that alone.
    return tuple([said for _, said, _ in imports[:1] or in_order])
