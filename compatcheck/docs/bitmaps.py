"""Which cells of a small table formulas hold in, as bitmaps: an integer with a bit for each cell.

Values of an axis that no vector of the formulas tells apart are one class, and the table has a place for each class.
In three-valued logic a formula is two bitmaps: where it holds, and where it may hold. They differ in the cells where it
is unknown.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache

from compatcheck.docs.formula import All, AnyPart, Choice, Chosen, Constant, Formula, Negation, Vector

Truth = tuple[int, int]
"""Where a formula holds, and where it may hold."""


class Bitmaps:
    """A table over axes, the last of which varies fastest; `spans` says which places of an axis' vectors are meant."""

    def __init__(self, spans: Mapping[str, slice], formulas: Iterable[Formula]) -> None:
        vectors = frozenset[Vector]().union(*[formula.vectors for formula in formulas])
        self.classes: dict[str, list[int]] = {}
        """Axis -> the class of each of its values."""
        self.firsts: dict[str, list[int]] = {}
        """Axis -> the first value of each class."""
        self._spans = spans
        for axis, span in spans.items():
            told = [vector.told[span] for vector in vectors if vector.axis == axis]
            self.classes[axis], self.firsts[axis] = number_values(told, span.stop - span.start)
        self.sizes = {axis: len(first) for axis, first in self.firsts.items()}
        self.cells = 1
        """How many cells the table has."""
        strides: dict[str, int] = {}
        for axis, size in reversed(self.sizes.items()):
            strides[axis] = self.cells
            self.cells *= size
        self.full = (1 << self.cells) - 1
        self._strides = strides
        self._truths: dict[Formula, Truth] = {}
        self._choices: dict[Formula, tuple[dict[object, int], int]] = {}

    def place(self, cell: int) -> dict[str, int]:
        """Return the first value on each axis of the class that a cell stands for."""
        return {axis: self.firsts[axis][cell // self._strides[axis] % size] for axis, size in self.sizes.items()}

    def cell(self, at: Mapping[str, int]) -> int:
        """Return the cell that stands for a value on each axis."""
        return sum([self.classes[axis][value] * self._strides[axis] for axis, value in at.items()])

    def of(self, formula: Formula) -> Truth:
        """Return where a formula holds, and where it may hold."""
        known = self._truths.get(formula)
        if known is None:
            known = self._truths[formula] = self._of(formula)
        return known

    def choice(self, choice: Formula) -> tuple[dict[object, int], int]:
        """Return where a choice may fall on each value, and where it is open."""
        known = self._choices.get(choice)
        if known is None:
            assert isinstance(choice, Choice)
            known = self._choices[choice] = self._choose(choice)
        return known

    def along(self, axis: str, values: Iterable[int]) -> int:
        """Return the cells at some values of an axis; of a class, all values are meant or none."""
        classes = self.classes[axis]
        masks = _masks(self.cells, self.sizes[axis], self._strides[axis])
        return _joined(masks, {classes[value] for value in values})

    def unknowns(self, formula: Formula) -> Iterator[int]:
        """Yield where each part of a formula is unknown: what is missing depends on that."""
        if isinstance(formula, Constant):
            return
        if isinstance(formula, Vector):
            told = formula.told[self._spans[formula.axis]]
            for missing in dict.fromkeys([one for one in told if isinstance(one, tuple)]):
                yield self.along(formula.axis, [at for at, one in enumerate(told) if one == missing])
        elif isinstance(formula, Choice):
            yield self.choice(formula)[1]
        else:
            holds, may = self.of(formula)
            if holds != may:
                yield may & ~holds
        for part in formula.parts:
            yield from self.unknowns(part)

    def _of(self, formula: Formula) -> Truth:
        if isinstance(formula, Vector):
            return self._vector(formula)
        if isinstance(formula, Constant):
            return self.full if formula.value else 0, 0 if formula.value is False else self.full
        if isinstance(formula, Negation):
            holds, may = self.of(formula.parts[0])
            return self.full & ~may, self.full & ~holds
        if isinstance(formula, Chosen):
            places, open_ = self.choice(formula.parts[0])
            holds = 0
            for value in formula.values:
                holds |= places.get(value, 0)
            holds &= ~open_
            return holds, holds | open_
        if isinstance(formula, AnyPart):
            holds = may = 0
            for part in formula.parts:
                here, perhaps = self.of(part)
                holds |= here
                may |= perhaps
            return holds, may
        assert isinstance(formula, All)
        holds = may = self.full
        for part in formula.parts:
            here, perhaps = self.of(part)
            holds &= here
            may &= perhaps
            if not may:
                break
        return holds, may

    def _vector(self, vector: Vector) -> Truth:
        masks = _masks(self.cells, self.sizes[vector.axis], self._strides[vector.axis])
        values = vector.values[self._spans[vector.axis]]
        answers = [values[first] for first in self.firsts[vector.axis]]
        holds = _joined(masks, [place for place, answer in enumerate(answers) if answer])
        unknown = _joined(masks, [place for place, answer in enumerate(answers) if answer is None])
        return holds, holds | unknown

    def _choose(self, choice: Choice) -> tuple[dict[object, int], int]:
        left, once, twice = self.full, 0, 0
        places: dict[object, int] = {}
        for part, value in zip(choice.parts, choice.values, strict=True):
            holds, may = self.of(part)
            here = left & may & ~places.get(value, 0)
            if here:
                twice |= once & here
                once |= here
                places[value] = places.get(value, 0) | here
            left &= ~holds
        here = left & ~places.get(None, 0)
        if here:
            twice |= once & here
            places[None] = places.get(None, 0) | here
        return places, twice


def number_values(vectors: Iterable[tuple[object, ...]], count: int) -> tuple[list[int], list[int]]:
    """Return the class of each of `count` values, and the first value of each class: what no vector tells apart."""
    told = list(dict.fromkeys(vectors))
    numbers: dict[tuple[object, ...], int] = {}
    classes: list[int] = []
    first: list[int] = []
    for value, signature in enumerate(zip(*told, strict=True) if told else [()] * count):
        number = numbers.get(signature)
        if number is None:
            number = numbers[signature] = len(numbers)
            first.append(value)
        classes.append(number)
    return classes, first


def positions(groups: Sequence[int], cells: int) -> list[int]:
    """Return for each cell the position, from 1, of the group that it is in; 0 where it is in none.

    `groups` are bitmaps of which no two share a cell. A position is put together from its binary digits, each of which
    is one bitmap over the cells: what Python does with few large integers takes less than a step for each cell.
    """
    digits = [0] * len(groups).bit_length()
    for position, group in enumerate(groups, 1):
        for place in range(position.bit_length()):
            if position >> place & 1:
                digits[place] |= group
    ones = int.from_bytes(b"\1" * cells, "big")
    found = [0] * cells
    for at in range(0, len(digits), 8):
        lanes = 0  # a byte for each cell
        for place, digit in enumerate(digits[at : at + 8]):
            lanes |= (int.from_bytes(f"{digit:0{cells}b}".encode(), "big") & ones) << place
        said = lanes.to_bytes(cells, "little")
        found = [low | high << at for low, high in zip(found, said, strict=True)] if at else list(said)
    return found


@lru_cache(maxsize=4096)
def _masks(cells: int, size: int, stride: int) -> list[int]:
    """Return the cells at each place of an axis that has `size` places, `stride` cells apart."""
    period = size * stride
    first = ((1 << cells) - 1) // ((1 << period) - 1) * ((1 << stride) - 1)
    return [first << (place * stride) for place in range(size)]


def _joined(masks: list[int], places: Iterable[int]) -> int:
    joined = 0
    for place in places:
        joined |= masks[place]
    return joined
