"""Rules outside the selector: configuration checks, gates after selection, library and toolkit limits, advisories."""

from __future__ import annotations

from operator import attrgetter
from typing import Any

from compatcheck.matrix.model import Matrix, Rule
from compatcheck.matrix.versions import contains
from compatcheck.resolve.conditions import Compiler

_CACHE_LIMIT = 65536


class RuleProgram:
    """One rule, compiled for one engine release."""

    def __init__(self, code: str, rule: Rule, compiler: Compiler) -> None:
        self.code = code
        self.rule = rule
        self._when = compiler.condition(rule.when)
        self._axis = attrgetter(rule.axis)
        self.fields = self._when.fields | ({rule.axis} if rule.versions else set())
        names = sorted(self.fields)
        self._key = attrgetter(*names) if names else (lambda facts: None)
        self._cache: dict[Any, bool | None] = {}

    def holds(self, facts: Any) -> bool | None:
        """Return True, False, or None where a fact is missing."""
        key = self._key(facts)
        try:
            return self._cache[key]
        except KeyError:
            if len(self._cache) > _CACHE_LIMIT:
                self._cache.clear()
            answer = self._cache[key] = self._test(facts)
            return answer

    def _test(self, facts: Any) -> bool | None:
        in_range: bool | None = True
        if self.rule.versions:
            version = self._axis(facts)
            in_range = None if version is None else contains(self.rule.versions, version)
        if in_range is False:
            return False
        when = self._when.test(facts)
        return when if in_range else (None if when is not False else False)

    def missing(self, facts: Any) -> frozenset[str]:
        """Return the missing facts that keep it from deciding."""
        names = self._when.missing(facts)
        if self.rule.versions and self._axis(facts) is None:
            names |= {self.rule.axis}
        return names


def compile_rules(matrix: Matrix, compiler: Compiler, kind: str = "attention") -> list[RuleProgram]:
    """Return the rules of the matrix that speak of attention, or of linear layers, compiled."""
    return [RuleProgram(code, rule, compiler) for code, rule in matrix.rules.items() if rule.kind == kind]


class RuleGroup:
    """Rules that depend on the same facts, answered together: one look-up instead of one per rule."""

    def __init__(self, programs: list[RuleProgram]) -> None:
        self._programs = programs
        names = sorted(set().union(*(program.fields for program in programs)))
        self._key = attrgetter(*names) if names else (lambda facts: None)
        self._cache: dict[Any, tuple[tuple[RuleProgram, bool | None], ...]] = {}

    def answers(self, facts: Any) -> tuple[tuple[RuleProgram, bool | None], ...]:
        """Return the rules that hold (True) or cannot be told (None); those that do not hold are left out."""
        key = self._key(facts)
        try:
            return self._cache[key]
        except KeyError:
            if len(self._cache) > _CACHE_LIMIT:
                self._cache.clear()
            told = tuple([(p, holds) for p in self._programs if (holds := p.holds(facts)) is not False])
            self._cache[key] = told
            return told


def group_rules(programs: list[RuleProgram]) -> list[RuleGroup]:
    """Return the rules grouped by the facts they depend on."""
    groups: dict[frozenset[str], list[RuleProgram]] = {}
    for program in programs:
        groups.setdefault(frozenset(program.fields), []).append(program)
    return [RuleGroup(members) for members in groups.values()]
