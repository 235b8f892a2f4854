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
    never: Callable[[Any], bool] | None = None
    """Whether the answer is False for some facts, whatever their sizes."""
    question: Any = None
    """What the question was made from."""


Said = tuple[tuple[int, Hashable], ...]
"""What questions answer, each by its place among all that are asked together; those that answer False are left out."""


class Plan:
    """Questions sorted by the sizes, of those in `names`, that they depend on."""

    def __init__(self, names: tuple[str, ...], parts: Iterable[Part]) -> None:
        self.parts = list(parts)
        by_sizes: dict[tuple[int, ...], list[tuple[int, Part]]] = {(): []}
        for place, part in enumerate(self.parts):
            places = tuple(at for at, name in enumerate(names) if name in part.fields)
            by_sizes.setdefault(places, []).append((place, part))
        self.groups = [Group(places, [names[at] for at in places], asked) for places, asked in by_sizes.items()]
        """The first has the questions that depend on no size."""
        self.fixed: dict[tuple[int | None, ...], int] = {}
        """What groups say whose answer no size changes, None for the others; numbered."""


class Group:
    """Questions that depend on the same sizes, answered together: the same answers give the same number."""

    def __init__(self, places: tuple[int, ...], sizes: list[str], parts: list[tuple[int, Part]]) -> None:
        self.pick: Callable[[Sizes], Any] = itemgetter(*places) if places else (lambda sizes: None)
        self._parts = parts
        self._sizes = sizes
        others = sorted(frozenset[str]().union(*(part.fields for _, part in parts)).difference(sizes))
        self._others: Callable[[Any], Any] = attrgetter(*others) if others else (lambda facts: None)
        self._frames: dict[Any, Frame] = {}
        self._numbers: dict[Said, int] = {}
        self.said: list[Said] = []
        """The answers that have a number, by number."""

    def frame(self, facts: Any) -> Frame:
        """Return what is known of configurations that are like this one in what the questions ask beside sizes."""
        others = self._others(facts)
        frame = self._frames.get(others)
        if frame is None:
            if len(self._frames) > _MANY:
                self._frames.clear()
            asks = [(at, part.ask) for at, part in self._parts if part.never is None or not part.never(facts)]
            frame = self._frames[others] = Frame(self, asks, settled=not (self._sizes and asks))
        return frame

    def number(self, said: Said) -> int:
        """Return the number of some answers."""
        number = self._numbers.get(said)
        if number is None:
            number = self._numbers[said] = len(self.said)
            self.said.append(said)
        return number


class Frame:
    """What a group's questions answer to configurations that are alike in all else that they ask."""

    def __init__(self, group: Group, asks: list[tuple[int, Ask]], *, settled: bool) -> None:
        self._group = group
        self._asks = asks
        self.settled = settled
        """The answers are the same whatever the sizes."""
        self.known: dict[Any, int] = {}
        """Numbers of answers by sizes."""

    def ask(self, sizes: Any, facts: Any) -> int:
        """Ask about sizes that are not known yet; `facts` has them."""
        if len(self.known) > _MANY:
            self.known.clear()
        said = tuple([(at, answer) for at, ask in self._asks if (answer := ask(facts)) is not False])
        number = self.known[sizes] = self._group.number(said)
        return number


class Tell:
    """A plan's questions about configurations that are alike in all but their sizes; `facts` are those of one."""

    def __init__(self, plan: Plan, facts: Any) -> None:
        frames = [(group, group.frame(facts)) for group in plan.groups]
        fixed = tuple([frame.ask(None, facts) if frame.settled else None for _, frame in frames])
        self._fixed = plan.fixed.setdefault(fixed, len(plan.fixed))
        self._said = [one for (group, _), n in zip(frames, fixed, strict=True) if n is not None for one in group.said[n]]
        self._open = [(group, frame) for group, frame in frames if not frame.settled]
        self._known = [(group.pick, frame.known) for group, frame in self._open]

    def __call__(self, sizes: Sizes, facts: Callable[[Sizes], Any]) -> tuple[int, ...]:
        """Return the numbers of the answers for these sizes; `facts` gives the configuration that has them."""
        told = [known.get(pick(sizes)) for pick, known in self._known]
        if None in told:
            here = facts(sizes)
            for at, (group, frame) in enumerate(self._open):
                if told[at] is None:
                    told[at] = frame.ask(group.pick(sizes), here)
        return (self._fixed, *told)  # type: ignore[arg-type]  # none is left open

    def said(self, told: tuple[int, ...]) -> Said:
        """Return the answers behind some numbers, in the order in which the questions were given."""
        said = list(self._said)
        for (group, _), number in zip(self._open, told[1:], strict=True):
            said += group.said[number]
        return tuple(sorted(said, key=itemgetter(0)))
