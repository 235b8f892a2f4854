"""What tells configurations apart that differ only in sizes: the answers to every question that is asked of them.

Two configurations about which all answers are equal have equal verdicts, whatever their sizes.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from operator import attrgetter, itemgetter
from typing import Any, NamedTuple

Ask = Callable[[Any], Hashable]
Sizes = tuple[Any, ...]
_MANY = 65536


class Part(NamedTuple):
    """One question: the fields that its answer depends on, and what gives the answer for some facts."""

    fields: frozenset[str]
    ask: Ask


class Plan:
    """Questions sorted by the sizes, of those in `names`, that they depend on."""

    def __init__(self, names: tuple[str, ...], parts: Iterable[Part]) -> None:
        by_sizes: dict[tuple[int, ...], list[Part]] = {(): []}
        for part in parts:
            places = tuple(at for at, name in enumerate(names) if name in part.fields)
            by_sizes.setdefault(places, []).append(part)
        self.fixed = Group((), [], by_sizes.pop(()))
        self.groups = [Group(places, [names[at] for at in places], asked) for places, asked in by_sizes.items()]


class Group:
    """Questions that depend on the same sizes, answered together: the same answers give the same number."""

    def __init__(self, places: tuple[int, ...], sizes: list[str], parts: list[Part]) -> None:
        self.pick: Callable[[Sizes], Any] = itemgetter(*places) if places else (lambda sizes: None)
        self._asks = [part.ask for part in parts]
        others = sorted(frozenset[str]().union(*(part.fields for part in parts)).difference(sizes))
        self._others: Callable[[Any], Any] = attrgetter(*others) if others else (lambda facts: None)
        self._known: dict[Any, dict[Any, int]] = {}
        self._numbers: dict[tuple[Hashable, ...], int] = {}

    def number(self, facts: Any) -> int:
        """Return the number of the answers for some facts."""
        numbers = self._numbers
        return numbers.setdefault(tuple([ask(facts) for ask in self._asks]), len(numbers))

    def known(self, facts: Any) -> dict[Any, int]:
        """Return numbers by sizes, for all configurations that are like this one in what the questions ask of."""
        if len(self._known) > _MANY:
            self._known.clear()
        return self._known.setdefault(self._others(facts), {})


class Tell:
    """A plan's questions about configurations that are alike in all but their sizes; `facts` are those of one."""

    def __init__(self, plan: Plan, facts: Any) -> None:
        self._fixed = plan.fixed.number(facts)
        self._groups = plan.groups
        self._known = [(group.pick, group.known(facts)) for group in plan.groups]

    def __call__(self, sizes: Sizes, facts: Callable[[Sizes], Any]) -> tuple[int, ...]:
        """Return the numbers of the answers for these sizes; `facts` gives the configuration that has them."""
        told = [known.get(pick(sizes)) for pick, known in self._known]
        if None in told:
            self._ask(told, sizes, facts(sizes))
        return (self._fixed, *told)  # type: ignore[arg-type]  # none is left open

    def _ask(self, told: list[int | None], sizes: Sizes, facts: Any) -> None:
        """Fill in what is not known yet."""
        for at, (pick, known) in enumerate(self._known):
            if told[at] is None:
                if len(known) > _MANY:
                    known.clear()
                told[at] = known[pick(sizes)] = self._groups[at].number(facts)
