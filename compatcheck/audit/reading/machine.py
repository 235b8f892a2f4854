"""One run through evaluated code: which way each open question was taken, and what that says of the inputs.

An input has a finite domain. A condition on it that holds for some of the domain only splits the run in two; the
explorer comes back for the other half (see `compatcheck.audit.reading.explore`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from compatcheck.audit.reading.values import (
    External,
    NotUnderstoodError,
    Place,
    RaisedError,
    Sym,
    Template,
    Unknown,
    unwrap,
)

STEPS = 100_000
"""Expressions and statements that one run may evaluate."""
DEPTH = 60
"""Calls within calls."""
FAULTS = (TypeError, ValueError, KeyError, IndexError, AttributeError, ZeroDivisionError, OverflowError)


class ImpureError(Exception):
    """A call that is tried as a function of its arguments alone asks for an input."""


class Machine:
    """The state of one run."""

    def __init__(self, domains: Mapping[str, tuple[Any, ...]], choices: list[int]) -> None:
        self.domains = domains
        self.given: dict[str, tuple[Any, ...]] = {}
        self.choices = choices
        self.open: list[int] = []
        """How many ways each question had."""
        self.steps = 0
        self.depth = 0
        self.pure = 0
        """More than 0 while a call is tried as a function of its arguments alone."""
        self.outside: set[tuple[str, str]] = set()
        """Values that a gate compares an input with and that the input's domain does not hold."""

    def step(self, place: Callable[[], Place]) -> None:
        """Count one step. Raises `NotUnderstoodError` where there are too many."""
        self.steps += 1
        if self.steps > STEPS:
            raise NotUnderstoodError(place(), "too many steps")

    def domain(self, var: str) -> tuple[Any, ...]:
        """Return the values that an input may still have."""
        return self.given.get(var) or self.domains[var]

    def input(self, var: str) -> Sym:
        """Return an input."""
        if self.pure:
            raise ImpureError
        return Sym(var, lambda value: value)

    def choose(self, ways: int) -> int:
        """Return which of several ways this run takes."""
        if self.pure:
            raise ImpureError
        at = len(self.open)
        self.open.append(ways)
        if at == len(self.choices):
            self.choices.append(0)
        return self.choices[at]

    def _split(self, value: Sym, key: Callable[[Any], Any]) -> Any:
        """Take one group of an input's values, those with the same `key` of what they lead to."""
        groups: dict[Any, list[Any]] = {}
        results: dict[Any, Any] = {}
        for point in self.domain(value.var):
            try:
                result = value.at(point)
                name = key(result)
            except RaisedError as error:
                result, name = error, ("raises", error.name, error.text)
            except FAULTS as error:
                result = RaisedError(type(error).__name__, str(error))
                name = ("raises", result.name, result.text)
            groups.setdefault(name, []).append(point)
            results.setdefault(name, result)
        names = list(groups)
        taken = names[self.choose(len(names)) if len(names) > 1 else 0]
        self.given[value.var] = tuple(groups[taken])
        if isinstance(results[taken], RaisedError):
            raise results[taken]
        return results[taken]

    def truth(self, value: Any) -> bool:
        """Return whether a value is true in this run. Raises `NotUnderstoodError`."""
        if isinstance(value, Unknown):
            raise NotUnderstoodError(value.place, value.why)
        if isinstance(value, Sym):
            return bool(_plain_truth(self._split(value, _plain_truth)))
        if isinstance(value, Template):
            return True
        if isinstance(value, External) and not value.imported:
            raise NotUnderstoodError(Place("", 0, value.name), "a value outside the release")
        return _plain_truth(value)

    def concrete(self, value: Any) -> Any:
        """Return a value that does not depend on inputs any more. Raises `NotUnderstoodError`."""
        if isinstance(value, Unknown):
            raise NotUnderstoodError(value.place, value.why)
        if isinstance(value, Sym):
            return self.concrete(self._split(value, _key))
        return value

    def lift(self, function: Callable[..., Any], *values: Any, constants: bool = False) -> Any:
        """Apply a function of plain values to values that may depend on one input each.

        `constants`: the function can do with constants from outside, such as dtypes.
        """
        for value in values:
            if isinstance(value, Unknown):
                return value
            if isinstance(value, External) and not (constants and value.constant):
                return Unknown(Place("", 0, value.name), "a value outside the release")
        arguments = list(values)
        symbolic = [v.var for v in arguments if isinstance(v, Sym)]
        if len(set(symbolic)) > 1:
            keep = max(set(symbolic), key=lambda var: (len(self.domain(var)), var))
            arguments = [self.concrete(v) if isinstance(v, Sym) and v.var != keep else v for v in arguments]
            symbolic = [keep]
        if symbolic:
            return Sym(
                symbolic[0], lambda point: function(*(v.at(point) if isinstance(v, Sym) else v for v in arguments))
            )
        try:
            return function(*arguments)
        except FAULTS as error:
            raise RaisedError(type(error).__name__, str(error)) from None


def _plain_truth(value: Any) -> bool:
    return bool(unwrap(value)) if isinstance(unwrap(value), (bool, int, float, str, type(None))) else _other(value)


def _other(value: Any) -> bool:
    return bool(value) if isinstance(value, (list, dict, set, frozenset, range)) or type(value) is tuple else True


def _key(value: Any) -> Any:
    plain = unwrap(value)
    try:
        hash(plain)
    except TypeError:
        return (type(plain).__name__, repr(plain))
    return (type(plain).__name__, plain)
