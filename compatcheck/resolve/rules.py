"""Rules outside the selector: configuration checks, gates after selection, library and toolkit limits, advisories."""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import cached_property, partial
from operator import attrgetter
from typing import Any

from compatcheck.matrix.model import Matrix, Rule
from compatcheck.matrix.versions import contains
from compatcheck.resolve.clusters import SIZES, Cluster, cluster
from compatcheck.resolve.conditions import AllOf, Compiler, Constant, Predicate
from compatcheck.resolve.configuration import FIELDS, Configuration
from compatcheck.resolve.narrowing import narrow, settled
from compatcheck.resolve.verdict import BITES_ORDER
from compatcheck.resolve.words import asked_fields, placeholders

_CACHE_LIMIT = 65536


class RuleProgram:
    """One rule, compiled for one engine release."""

    def __init__(self, code: str, rule: Rule, compiler: Compiler) -> None:
        self.code = code
        self.rule = rule
        self._when = compiler.stated(rule.when)
        self._axis = attrgetter(rule.axis)
        self.fields = self._when.fields | ({rule.axis} if rule.versions else set())
        self.at_start = compiler.condition({rule.bites: "init"}) if rule.bites not in BITES_ORDER else Constant(False)
        """Whether it bites while the engine starts: where a derived fact, which `bites` names, says when that is."""
        words = rule.words[0] if rule.words and not rule.words[0].startswith("/") else ""
        asked = asked_fields(placeholders(words)) | self.at_start.fields
        self.named = asked
        self.text = self._text(asked)
        self.told = self.fields | asked
        """The fields that the answer and the finding's text can depend on."""
        self.key = attrgetter(*sorted(self.told)) if self.told else (lambda facts: None)
        names = sorted(self.fields)
        self._key = attrgetter(*names) if names else (lambda facts: None)
        self._cache: dict[Any, bool | None] = {}
        self._of_engine: dict[str, bool] = {}

    def _text(self, asked: frozenset[str]) -> Callable[[Any], Any]:
        """Return what gives all that its finding repeats of a configuration."""
        words = attrgetter(*sorted(asked)) if asked else (lambda facts: None)
        if not self.at_start.fields:
            return words
        return lambda facts: (self.bites(facts), words(facts))

    def bites(self, facts: Any) -> str:
        """Return when it bites, where it holds."""
        if self.rule.bites in BITES_ORDER:
            return self.rule.bites
        return "init" if self.at_start.test(facts) else "first-request"

    @property
    def when(self) -> Predicate:
        """The compiled condition, without the range of versions."""
        return self._when

    def holds(self, facts: Any) -> bool | None:
        """Return True, False, or None where a fact is missing."""
        key = self._key(facts)
        try:
            return self._cache[key]
        except KeyError:
            if len(self._cache) > _CACHE_LIMIT:
                self._cache.clear()
            answer = self._cache[key] = self.test(facts)
            return answer

    def test(self, facts: Any) -> bool | None:
        """Answer as `holds` does, and keep nothing: for a caller who keeps answers himself."""
        in_range = self._in_range(facts)
        if in_range is False:
            return False
        when = self._when.test(facts)
        return when if in_range else (None if when is not False else False)

    def never(self, facts: Any) -> bool:
        """Return whether it is False for these facts, whatever their sizes."""
        return self._in_range(facts) is False or settled(self._when, facts, SIZES) is False

    def possible(self, facts: Any, free: Collection[str]) -> bool:
        """Return whether it may be other than False for facts that differ from these only in the `free` fields."""
        if self.rule.axis not in free and self._in_range(facts) is False:
            return False
        return settled(self._when, facts, free) is not False

    def speaks_of(self, engine: str) -> bool:
        """Return whether it may be other than False for an engine, whatever else."""
        if "engine" not in self._when.fields:
            return True
        known = self._of_engine.get(engine)
        if known is None:
            free = frozenset(FIELDS) - {"engine"}
            known = self._of_engine[engine] = settled(self._when, Configuration(engine=engine), free) is not False
        return known

    def left(self, facts: Any, free: Collection[str]) -> Predicate:
        """Return when it holds for facts that differ from these only in the `free` fields, versions not among them."""
        in_range = self._in_range(facts)
        if in_range is False:
            return Constant(False)
        return narrow(self._when if in_range else AllOf([Constant(None), self._when]), facts, free)

    def said(self, facts: Any, holds: bool | None) -> tuple[bool | None, Any]:
        """Return an answer with all that a verdict repeats of it: the values in its text, or the missing facts."""
        return holds, self.text(facts) if holds else self.missing(facts)

    def _in_range(self, facts: Any) -> bool | None:
        if not self.rule.versions:
            return True
        version = self._axis(facts)
        return None if version is None else contains(self.rule.versions, version)

    def missing(self, facts: Any) -> frozenset[str]:
        """Return the missing facts that keep it from deciding."""
        names = self._when.missing(facts)
        if self.rule.versions and self._axis(facts) is None:
            names |= {self.rule.axis}
        return names


def compile_rules(matrix: Matrix, compiler: Compiler, kind: str = "attention") -> list[RuleProgram]:
    """Return the rules of the matrix that speak of attention, or of linear layers, compiled.

    It is one list for all releases in which the derived facts that the rules name mean the same.
    """

    def make() -> list[RuleProgram]:
        rules = [(code, rule) for code, rule in matrix.rules.items() if rule.kind == kind]
        return [compiler.once(code, (rule,), partial(RuleProgram, code, rule, compiler)) for code, rule in rules]

    return compiler.once(f"rules about {kind}", (matrix.rules,), make)


Clusters = list[Cluster[RuleProgram]]


def cluster_rules(programs: list[RuleProgram]) -> Clusters:
    """Return rules in clusters: one look-up for all that depend on the same sizes."""
    return cluster(programs, RuleProgram.holds)


class RuleGroups:
    """Rules by when they are asked, one by one and in clusters, which are made when first asked for."""

    def __init__(self, programs: list[RuleProgram]) -> None:
        given = [program for program in programs if program.rule.as_given]
        others = [program for program in programs if not program.rule.as_given]
        early = [program for program in others if program.rule.bites == "config"]
        self.each = (others, early, given)
        """The rules of each group, one by one."""

    @cached_property
    def everything(self) -> Clusters:
        """Of a start that gets past the selector."""
        return cluster_rules(self.each[0])

    @cached_property
    def early(self) -> Clusters:
        """Of one that does not: those that bite at configuration."""
        return cluster_rules(self.each[1])

    @cached_property
    def as_given(self) -> Clusters:
        """Of the configuration as it was given, where a start gets past the selector."""
        return cluster_rules(self.each[2])
