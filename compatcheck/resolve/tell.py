"""What tells configurations apart that differ only in sizes: the answers to every question that is asked of them.

Two configurations about which all answers are equal have equal verdicts, whatever their sizes.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from functools import partial
from operator import attrgetter, itemgetter
from typing import Any, NamedTuple

Ask = Callable[[Any], Hashable]
Sizes = tuple[Any, ...]
_MANY = 65536


class Left(NamedTuple):
    """What is left of a question where only sizes are open: the fields its answer depends on, and what gives it."""

    fields: frozenset[str]
    ask: Ask


class Part(NamedTuple):
    """One question: the fields that its answer depends on, and what gives the answer for some facts."""

    fields: frozenset[str]
    ask: Ask
    narrow: Callable[[Any, frozenset[str]], Left | None] | None = None
    """Returns what is left of it for some facts, the named fields being open; None where the answer is False."""
    question: Any = None
    """What the question was made from."""


Said = tuple[tuple[int, Hashable], ...]
"""What questions answer, each by its place among all that are asked together; those that answer False are left out."""
Members = tuple[tuple[int, Ask], ...]
"""Questions by their places."""


class Plan:
    """Questions about configurations that differ in the sizes `names`, and what is known of their answers."""

    def __init__(self, names: tuple[str, ...], parts: Iterable[Part]) -> None:
        self.parts = list(parts)
        self._names = names
        self._free = frozenset(names)
        self._others = [_getter(sorted(part.fields.difference(names))) for part in self.parts]
        self._left: list[dict[Any, tuple[tuple[int, ...], Ask] | None]] = [{} for _ in self.parts]
        self._frames: dict[tuple[tuple[int, ...], Members], Frame] = {}
        self._numbers: dict[tuple[int, ...], Numbers] = {}
        self._shapes: dict[Hashable, int] = {}

    def by_sizes(self, facts: Any) -> dict[tuple[int, ...], Members]:
        """Return the questions that these facts leave open, by the places of the sizes that they depend on."""
        found: dict[tuple[int, ...], list[tuple[int, Ask]]] = {(): []}
        for at, (known, others) in enumerate(zip(self._left, self._others, strict=True)):
            key = others(facts)
            try:
                left = known[key]
            except KeyError:
                if len(known) > _MANY:
                    known.clear()
                left = known[key] = self._narrowed(self.parts[at], facts)
            if left is not None:
                found.setdefault(left[0], []).append((at, left[1]))
        return {places: tuple(members) for places, members in found.items()}

    def _narrowed(self, part: Part, facts: Any) -> tuple[tuple[int, ...], Ask] | None:
        # What is asked stands for all facts beside sizes too, so it is an object of its own for each of them.
        left = part.narrow(facts, self._free) if part.narrow else Left(part.fields, partial(part.ask))
        if left is None:
            return None
        return tuple(at for at, name in enumerate(self._names) if name in left.fields), left.ask

    def frame(self, places: tuple[int, ...], members: Members) -> Frame:
        """Return what is known of questions that depend on the same sizes; what is left of each is one object."""
        frame = self._frames.get((places, members))
        if frame is None:
            if len(self._frames) > _MANY:
                self._frames.clear()
            numbers = self._numbers.setdefault(tuple([at for at, _ in members]), Numbers())
            frame = self._frames[places, members] = Frame(places, members, numbers)
        return frame

    def shape(self, settled: Said, asked: Iterable[Members]) -> int:
        """Return a number for what is settled, and for which questions are asked together."""
        key = (settled, *[tuple([at for at, _ in members]) for members in asked])
        return self._shapes.setdefault(key, len(self._shapes))


class Numbers:
    """Answers to the same questions, numbered: the same answers have the same number."""

    def __init__(self) -> None:
        self._numbers: dict[Said, int] = {}
        self.said: list[Said] = []
        """The answers that have a number, by number."""

    def number(self, said: Said) -> int:
        """Return the number of some answers."""
        number = self._numbers.get(said)
        if number is None:
            number = self._numbers[said] = len(self.said)
            self.said.append(said)
        return number


class Frame:
    """What questions that depend on the same sizes answer to configurations that are alike in all else they ask."""

    def __init__(self, places: tuple[int, ...], members: Members, numbers: Numbers) -> None:
        self.pick: Callable[[Sizes], Any] = itemgetter(*places)
        self._members = members
        self.numbers = numbers
        self.known: dict[Any, int] = {}
        """Numbers of answers by sizes."""

    def ask(self, sizes: Any, facts: Any) -> int:
        """Ask about sizes that are not known yet; `facts` has them."""
        if len(self.known) > _MANY:
            self.known.clear()
        number = self.known[sizes] = self.numbers.number(_said(self._members, facts))
        return number


class Tell:
    """A plan's questions about configurations that are alike in all but their sizes; `facts` are those of one."""

    def __init__(self, plan: Plan, facts: Any) -> None:
        asked = plan.by_sizes(facts)
        self._settled = _said(asked.pop(()), facts)
        self._shape = plan.shape(self._settled, asked.values())
        self._frames = [plan.frame(places, members) for places, members in asked.items()]
        self._known = [(frame.pick, frame.known) for frame in self._frames]

    def __call__(self, sizes: Sizes, facts: Callable[[Sizes], Any]) -> tuple[int, ...]:
        """Return the numbers of the answers for these sizes; `facts` gives the configuration that has them."""
        told = [known.get(pick(sizes)) for pick, known in self._known]
        if None in told:
            here = facts(sizes)
            for at, frame in enumerate(self._frames):
                if told[at] is None:
                    told[at] = frame.ask(frame.pick(sizes), here)
        return (self._shape, *told)  # type: ignore[arg-type]  # none is left open

    def said(self, told: tuple[int, ...]) -> Said:
        """Return the answers behind some numbers, in the order in which the questions were given."""
        said = list(self._settled)
        for frame, number in zip(self._frames, told[1:], strict=True):
            said += frame.numbers.said[number]
        return tuple(sorted(said, key=itemgetter(0)))


def _said(members: Members, facts: Any) -> Said:
    return tuple([(at, answer) for at, ask in members if (answer := ask(facts)) is not False])


def _getter(fields: list[str]) -> Callable[[Any], Any]:
    return attrgetter(*fields) if fields else (lambda facts: None)
