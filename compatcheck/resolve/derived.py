"""Derived facts: what the engine computes from others, as decision lists that change with the release."""

from __future__ import annotations

from operator import attrgetter
from typing import Any

from compatcheck.matrix.model import FactCase
from compatcheck.resolve.conditions import UNKNOWN, Compiler, Predicate

_CACHE_LIMIT = 65536


class DecisionList:
    """The first case whose condition holds gives the value.

    Where a condition is unknown, every case that could still decide is considered: if they all give one value, that
    is the answer; otherwise it is unknown.
    """

    def __init__(self, cases: list[FactCase], compiler: Compiler) -> None:
        self._cases: list[tuple[Predicate, Any]] = [(compiler.stated(c.when), c.value) for c in cases]
        self.fields = frozenset[str]().union(*(p.fields for p, _ in self._cases))
        names = sorted(self.fields)
        self._key = attrgetter(*names) if names else (lambda facts: None)
        self._cache: dict[Any, Any] = {}

    @property
    def cases(self) -> list[tuple[Predicate, Any]]:
        """The compiled conditions in order, each with its value."""
        return self._cases

    def value(self, facts: Any) -> Any:
        """Return the value for these facts, or `UNKNOWN`."""
        key = self._key(facts)
        try:
            return self._cache[key]
        except KeyError:
            pass
        if len(self._cache) > _CACHE_LIMIT:
            self._cache.clear()
        self._cache[key] = result = self._decide(facts)
        return result

    def _decide(self, facts: Any) -> Any:
        possible = self.possible(facts)
        return possible[0] if all(value == possible[0] for value in possible) else UNKNOWN

    def possible(self, facts: Any) -> list[Any]:
        """Return the values that may still be the answer, in order; None where no case may hold."""
        possible: list[Any] = []
        for condition, value in self._cases:
            holds = condition.test(facts)
            if holds is False:
                continue
            possible.append(value)
            if holds:
                break
        else:
            possible.append(None)
        return possible

    def missing(self, facts: Any) -> frozenset[str]:
        """Return the missing facts that leave the value open."""
        if self.value(facts) is not UNKNOWN:
            return frozenset()
        names: frozenset[str] = frozenset()
        for condition, _ in self._cases:
            holds = condition.test(facts)
            if holds is None:
                names |= condition.missing(facts)
            elif holds:
                break
        return names
