"""The selector's ways of refusing, as conditions: a value that no grant accepts, a feature that no flag grants."""

from __future__ import annotations

from collections.abc import Collection
from operator import attrgetter
from typing import Any

from compatcheck.resolve.conditions import Constant, Narrows, Not, Predicate
from compatcheck.resolve.narrowing import narrow


class Refused(Narrows):
    """A value is given, and no grant accepts it."""

    def __init__(self, field: str, grants: Predicate, when_absent: bool | None) -> None:
        self.fields = grants.fields | {field}
        self._get = attrgetter(field)
        self.field = field
        self.grants = grants
        self.when_absent = when_absent

    def test(self, facts: Any) -> bool | None:
        if self._get(facts) is None:
            return self.when_absent
        accepted = self.grants.test(facts)
        return None if accepted is None else not accepted

    def narrow(self, facts: Any, free: Collection[str]) -> Predicate:
        return Refused(self.field, narrow(self.grants, facts, free), self.when_absent)

    def missing(self, facts: Any) -> frozenset[str]:
        if self._get(facts) is None:
            return frozenset({self.field}) if self.when_absent is None else frozenset()
        return self.grants.missing(facts)


class FeatureRefused(Narrows):
    """A feature is asked for, and the backend's flag does not grant it."""

    def __init__(self, field: str, flag: Predicate) -> None:
        self.fields = flag.fields | {field}
        self._asked = attrgetter(field)
        self.field = field
        self.flag = flag

    def test(self, facts: Any) -> bool | None:
        asked = self._asked(facts)
        if asked is None and self.field != "sliding_window":
            return None if self.flag.test(facts) is not True else False
        if not asked:
            return False
        granted = self.flag.test(facts)
        return None if granted is None else not granted

    def narrow(self, facts: Any, free: Collection[str]) -> Predicate:
        if self.field in free or self._asked(facts) is None:
            return FeatureRefused(self.field, narrow(self.flag, facts, free))
        return narrow(Not(self.flag), facts, free) if self._asked(facts) else Constant(False)

    def missing(self, facts: Any) -> frozenset[str]:
        if self._asked(facts) is None:
            return frozenset({self.field})
        return self.flag.missing(facts)


class NonCausalDcp(Narrows):
    """Non-causal MLA attention under DCP is asked for, and not granted."""

    ASKS = frozenset({"use_mla", "use_non_causal", "use_dcp"})

    def __init__(self, flag: Predicate) -> None:
        self.fields = flag.fields | self.ASKS
        self.flag = flag

    def test(self, facts: Any) -> bool | None:
        if not (facts.use_mla and facts.use_non_causal and facts.use_dcp):
            return False
        granted = self.flag.test(facts)
        return None if granted is None else not granted

    def narrow(self, facts: Any, free: Collection[str]) -> Predicate:
        if not self.ASKS.isdisjoint(free):
            return NonCausalDcp(narrow(self.flag, facts, free))
        asked = facts.use_mla and facts.use_non_causal and facts.use_dcp
        return narrow(Not(self.flag), facts, free) if asked else Constant(False)

    def missing(self, facts: Any) -> frozenset[str]:
        return self.flag.missing(facts)


class FirstOf(Narrows):
    """A joint rule speaks only if no earlier one does."""

    def __init__(self, earlier: list[Predicate], own: Predicate) -> None:
        self.fields = own.fields.union(*(p.fields for p in earlier))
        self.earlier = earlier
        self.own = own

    def test(self, facts: Any) -> bool | None:
        own = self.own.test(facts)
        if own is False:
            return False
        for predicate in self.earlier:
            before = predicate.test(facts)
            if before is True:
                return False
            if before is None:
                own = None
        return own

    def narrow(self, facts: Any, free: Collection[str]) -> Predicate:
        own = narrow(self.own, facts, free)
        if isinstance(own, Constant) and own.test(facts) is False:
            return own
        left: list[Predicate] = []
        for predicate in self.earlier:
            earlier = narrow(predicate, facts, free)
            before = earlier.test(facts) if isinstance(earlier, Constant) else None
            if before:
                return Constant(False)
            if before is None:
                left.append(earlier)
        return FirstOf(left, own) if left else own

    def missing(self, facts: Any) -> frozenset[str]:
        return self.own.missing(facts).union(*(p.missing(facts) for p in self.earlier))
