"""What formulas are made of: vectors along one axis, and what puts them together. `Formulas` makes them, each once."""

from __future__ import annotations

from typing import Any

Values = tuple[Any, ...]
"""An answer for each value of an axis."""
_NOTHING: frozenset[Any] = frozenset()


class Formula:
    """A condition over axes. `axes` are those that it looks at; `vectors` are its leaves."""

    __slots__ = ("axes", "number", "parts", "vectors")

    def __init__(self, number: int, parts: tuple[Formula, ...]) -> None:
        self.number = number
        self.parts = parts
        self.axes: frozenset[str] = _NOTHING.union(*[part.axes for part in parts])
        self.vectors: frozenset[Vector] = _NOTHING.union(*[part.vectors for part in parts])


class Constant(Formula):
    """The same for every value of every axis: True, False, or None for want of a fact."""

    __slots__ = ("value",)

    def __init__(self, number: int, value: bool | None) -> None:
        super().__init__(number, ())
        self.value = value


class Vector(Formula):
    """An answer for each value of one axis."""

    __slots__ = ("axis", "told", "values")

    def __init__(self, number: int, axis: str, values: Values, told: Values) -> None:
        super().__init__(number, ())
        self.axis = axis
        self.values = values
        self.told = told
        """What tells values apart: the answers, and where there is none what is missing."""
        self.axes = frozenset({axis})
        self.vectors = frozenset({self})


class All(Formula):
    """Every part holds."""

    __slots__ = ()


class AnyPart(Formula):
    """One part holds."""

    __slots__ = ()


class Negation(Formula):
    """The part does not hold."""

    __slots__ = ()


class Choice(Formula):
    """The value of the first part that holds; None where none does. Not a condition itself: `Chosen` is."""

    __slots__ = ("values",)

    def __init__(self, number: int, parts: tuple[Formula, ...], values: Values) -> None:
        super().__init__(number, parts)
        self.values = values


class Chosen(Formula):
    """A choice falls on one of `values`; unknown where what is missing leaves the value open."""

    __slots__ = ("values",)

    def __init__(self, number: int, choice: Choice, values: frozenset[Any]) -> None:
        super().__init__(number, (choice,))
        self.values = values
