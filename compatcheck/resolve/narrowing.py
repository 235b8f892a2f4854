"""What is left of a condition once most fields have their values: the part that the others still decide.

A sweep asks the same conditions for thousands of sizes on one GPU with one backend. What the GPU and the backend settle
is settled once; what is left names fewer fields, and often none.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from compatcheck.resolve.conditions import UNKNOWN, AllOf, AnyOf, Constant, DerivedLeaf, Narrows, Not, Predicate
from compatcheck.resolve.derived import DecisionList

_CONSTANTS = {value: Constant(value) for value in (True, False, None)}


def narrow(predicate: Predicate, facts: Any, free: Collection[str]) -> Predicate:
    """Return a condition that tests like this one for all facts that differ from these only in the `free` fields.

    It is for testing alone: of missing facts, only the condition itself can tell.
    """
    if predicate.fields.isdisjoint(free):
        return _CONSTANTS[predicate.test(facts)]
    if isinstance(predicate, (AllOf, AnyOf)):
        return _several(predicate, facts, free)
    if isinstance(predicate, Not):
        part = narrow(predicate.part, facts, free)
        return _CONSTANTS[Not(part).test(facts)] if isinstance(part, Constant) else Not(part)
    if isinstance(predicate, DerivedLeaf) and isinstance(predicate.fact, DecisionList):
        return _decided(predicate, predicate.fact, facts, free)
    return predicate.narrow(facts, free) if isinstance(predicate, Narrows) else predicate


def settled(predicate: Predicate, facts: Any, free: Collection[str]) -> bool | None:
    """Return what a condition says whatever the values of the `free` fields are; None where they may matter."""
    left = narrow(predicate, facts, free)
    return left.test(facts) if isinstance(left, Constant) else None


def _several(predicate: AllOf | AnyOf, facts: Any, free: Collection[str]) -> Predicate:
    deciding = isinstance(predicate, AnyOf)
    left: list[Predicate] = []
    for part in predicate.parts:
        narrowed = narrow(part, facts, free)
        if not isinstance(narrowed, Constant):
            left.append(narrowed)
        elif narrowed.test(facts) is deciding:
            return narrowed
        elif narrowed.test(facts) is None and narrowed not in left:
            left.append(narrowed)
    if not left:
        return _CONSTANTS[not deciding]
    return left[0] if len(left) == 1 else type(predicate)(left)


def narrow_cases(fact: DecisionList, facts: Any, free: Collection[str]) -> list[tuple[Predicate, Any]]:
    """Return the cases that may still decide a value, the last of them without fail: what is left of each, the value.

    For all facts that differ from these only in the `free` fields.
    """
    cases: list[tuple[Predicate, Any]] = []
    for condition, value in fact.cases:
        left = narrow(condition, facts, free)
        holds = left.test(facts) if isinstance(left, Constant) else None
        if holds is False:
            continue
        cases.append((left, value))
        if holds:
            return cases
    return [*cases, (_CONSTANTS[True], None)]


def _decided(leaf: DerivedLeaf, fact: DecisionList, facts: Any, free: Collection[str]) -> Predicate:
    narrowed = _NarrowedLeaf(leaf, narrow_cases(fact, facts, free))
    return narrowed if narrowed.fields else _CONSTANTS[narrowed.test(facts)]


class _NarrowedLeaf:
    """A derived fact against one constraint; only the cases are left that may still decide, the last without fail."""

    def __init__(self, leaf: DerivedLeaf, cases: list[tuple[Predicate, Any]]) -> None:
        first = cases[0][1]
        if all(value == first for _, value in cases):
            cases = [(_CONSTANTS[True], first)]
        self.fields = frozenset[str]().union(*(condition.fields for condition, _ in cases))
        self._leaf = leaf
        self._cases = cases

    def test(self, facts: Any) -> bool | None:
        value: Any = UNKNOWN
        for condition, here in self._cases:
            holds = condition.test(facts)
            if holds is False:
                continue
            if value is not UNKNOWN and value != here:
                return None
            value = here
            if holds:
                break
        return bool(self._leaf.when_absent) if value is None else self._leaf.matches(value)

    def missing(self, facts: Any) -> frozenset[str]:
        return self._leaf.missing(facts)
