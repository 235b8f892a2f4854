"""An engine at one release: derived facts, backends and orders, compiled once and asked many times."""

from __future__ import annotations

from bisect import bisect_right
from functools import partial
from typing import Any, TypeVar

from compatcheck.matrix.model import Backend, Engine, FactCase, Matrix, PriorityList, SelectorCheck, rules_of
from compatcheck.matrix.versions import Version, parse
from compatcheck.resolve.backend import BackendProgram, in_release, of_release
from compatcheck.resolve.computed import FORCED_PREFILL, HEADS_PER_KV, MLA_PREFILL, ROUTE, HeadGroup, PrefillChoice
from compatcheck.resolve.conditions import UNKNOWN, CompiledEntries, Compiler, Derived, Predicate
from compatcheck.resolve.configuration import FIELDS
from compatcheck.resolve.derived import DecisionList
from compatcheck.resolve.judgement import Judgement

T = TypeVar("T", bound=Any)

_CACHE_LIMIT = 65536
_UNSTATED = [FactCase()]
"""The cases of a fact of which nothing is said yet."""


def _marks(backends: dict[str, Backend], name: str, selector: list[SelectorCheck]) -> list[Version]:
    """Return the releases, oldest first, at which what is said of a backend, or what the selector asks, may change."""
    limits: list[tuple[str | None, str | None]] = [(check.since, check.until) for check in selector]
    open_, seen = [name], {name}
    while open_:
        entry = backends[open_.pop()]
        limits += [(change.since, None) for change in entry.changes]
        limits += [(rule.since, rule.until) for layer in (entry, *entry.changes) for rule in rules_of(layer)]
        related = {*entry.members, *([entry.extends] if entry.extends else [])} - seen
        seen |= related
        open_ += related
    return sorted({parse(mark) for limit in limits for mark in limit if mark is not None})


def latest(entries: list[T], release: str) -> T | None:
    """Return the entry with the newest `since` that is not newer than the release."""
    at = parse(release)
    fitting = [entry for entry in entries if parse(entry.since) <= at]
    return max(fitting, key=lambda entry: parse(entry.since)) if fitting else None


class Selection:
    """What the engine picks where none is forced. The same answers of its backends give the same object."""

    __slots__ = ("accepts", "candidates", "judgements", "missing", "rejected", "selected")

    def __init__(self, judgements: list[Judgement], selected: str | None, missing: frozenset[str]) -> None:
        self.judgements = judgements
        self.selected = selected
        self.missing = missing if selected is None else frozenset[str]()
        """The missing facts that leave the pick open."""
        self.accepts = True if selected else (None if self.missing else False)
        self.candidates = tuple([j.backend for j in judgements if j.accepted])
        """Backends that the selector accepts, in its order."""
        self.rejected = {j.backend: j.words for j in judgements if j.words}
        """Backends that it refuses, with its words."""


class EngineProgram:
    """The selector of one engine release."""

    def __init__(self, matrix: Matrix, engine: Engine, release: str, compiled: CompiledEntries | None = None) -> None:
        self.engine = engine
        self.release = release
        self.derived: dict[str, Derived] = {}
        self.compiler = Compiler(matrix.sms, frozenset(FIELDS), self.derived, compiled=compiled)
        once = self.compiler.once
        for name, fact in engine.facts.items():
            entry = latest(fact.versions, release)
            cases = of_release(entry.cases, release) if entry else _UNSTATED
            self.derived[name] = once("fact", tuple(cases), partial(DecisionList, cases, self.compiler))
        accepted = latest(engine.kv_cache_dtypes, release)
        self.kv_cache_dtypes: list[str] = accepted.values if accepted else []
        self.accepted_kv_cache_dtypes = frozenset(self.kv_cache_dtypes)
        self.mla_model_types = frozenset(
            t for entry in engine.mla_model_types if in_release(entry.since, entry.until, release) for t in entry.types
        )
        self.backends = self._present(engine.backends)
        self.present = frozenset(self.backends)
        self.prefill_backends = self._present(engine.mla_prefill_backends)
        self._programs: dict[str, BackendProgram] = {}
        self._prefill_programs: dict[str, BackendProgram] = {}
        self._order = self._orders(engine.priorities, self.backends)
        self.order_choice = self._order[1]
        """Decides the order in which backends are tried."""
        self._prefill_order = self._orders(engine.mla_prefill_priorities, self.prefill_backends)
        cases = [FactCase(value=case.route, when=case.when) for case in engine.routing]
        self.routing = once("routing", tuple(engine.routing), partial(DecisionList, cases, self.compiler))
        """Decides the route that a configuration, with its backend filled in, takes."""
        self._selections: dict[tuple[tuple[Judgement, ...], frozenset[str]], Selection] = {}
        self.derived[HEADS_PER_KV] = once(HEADS_PER_KV, (), HeadGroup)
        self.derived[ROUTE] = self.routing
        order, programs = self.prefill_choice()
        tried = tuple(map(tuple, self._prefill_order[0]))
        self.derived[MLA_PREFILL] = once((MLA_PREFILL, tried), (order, *programs), partial(PrefillChoice, self))

    def _present(self, backends: dict[str, Backend]) -> list[str]:
        return [name for name, b in backends.items() if in_release(b.since, b.until, self.release)]

    def _orders(self, lists: list[PriorityList], present: list[str]) -> tuple[list[list[str]], DecisionList]:
        entry = latest(lists, self.release)
        cases = of_release(entry.cases, self.release) if entry else []
        numbered = [FactCase(value=i, when=case.when) for i, case in enumerate(cases)]
        decide = self.compiler.once("order", tuple(cases), partial(DecisionList, numbered, self.compiler))
        return [[name for name in case.order if name in present] for case in cases], decide

    def program(self, name: str) -> BackendProgram:
        """Return a backend's compiled checks; `name` must be one of `backends`."""
        known = self._programs.get(name)
        return known or self._compiled(name, self._programs, self.engine.backends, self.engine.selector)

    def prefill_program(self, name: str) -> BackendProgram:
        """Return an MLA prefill backend's compiled checks."""
        return self._compiled(
            name, self._prefill_programs, self.engine.mla_prefill_backends, self.engine.prefill_selector
        )

    @property
    def prefill_fields(self) -> frozenset[str]:
        """The fields that the choice of an MLA prefill backend, and what refuses the others says, depend on."""
        order, programs = self.prefill_choice()
        return order.fields.union(FORCED_PREFILL, *(check.told for program in programs for check in program.checks))

    def prefill_choice(self) -> tuple[DecisionList, list[BackendProgram]]:
        """Return what decides the order of MLA prefill backends, and their compiled checks."""
        return self._prefill_order[1], [self.prefill_program(name) for name in self.prefill_backends]

    def prefill_walks(self) -> list[tuple[Predicate, list[BackendProgram]]]:
        """Return, for each case of the order of MLA prefill backends, when it holds, and what is tried then."""
        lists, decide = self._prefill_order
        return [(condition, [self.prefill_program(name) for name in lists[i]]) for condition, i in decide.cases]

    def _compiled(
        self,
        name: str,
        programs: dict[str, BackendProgram],
        backends: dict[str, Backend],
        selector: list[SelectorCheck],
    ) -> BackendProgram:
        program = programs.get(name)
        if program is None:
            defaults, compiler = self.engine.defaults, self.compiler
            make = partial(BackendProgram, name, backends, self.release, defaults, selector, compiler)
            marks = compiler.once(("marks", name), (backends, selector), partial(_marks, backends, name, selector))
            since = bisect_right(marks, parse(self.release))
            program = programs[name] = compiler.once((name, since), (backends, selector), make)
        return program

    # ----------------------------------------------------------------------------------------- asking

    def judge(self, name: str, facts: Any) -> Judgement:
        """Return what the selector says of a backend, in its order and words."""
        return self.program(name).judge(facts)

    def judge_prefill(self, name: str, facts: Any) -> Judgement:
        """Return what the MLA prefill selector says of a backend."""
        return self.prefill_program(name).judge(facts)

    def order(self, facts: Any) -> tuple[list[str] | None, frozenset[str]]:
        """Return the order in which backends are tried, or None and the missing facts that decide it."""
        return self._decide_order(self._order, facts)

    def prefill_order(self, facts: Any) -> tuple[list[str] | None, frozenset[str]]:
        """Return the order in which MLA prefill backends are tried; of a forced one that one alone."""
        forced = facts.mla_prefill_backend
        if forced is not None:
            return [forced] if forced in self.prefill_backends else [], frozenset()
        return self._decide_order(self._prefill_order, facts)

    def open_orders(self, facts: Any) -> tuple[tuple[Any, ...], frozenset[str]]:
        """Return which orders may be the one that decides, and the missing facts that leave it open."""
        return tuple(self.order_choice.possible(facts)), self.order_choice.missing(facts)

    @staticmethod
    def _decide_order(
        orders: tuple[list[list[str]], DecisionList], facts: Any
    ) -> tuple[list[str] | None, frozenset[str]]:
        lists, decide = orders
        index = decide.value(facts)
        if index is UNKNOWN:
            return None, decide.missing(facts)
        return (lists[index] if index is not None else []), frozenset()

    def select(self, facts: Any) -> Selection:
        """Return what the engine picks: every candidate, every refusal, and what is missing to be sure."""
        order, missing = self.order(facts)
        if order is None:
            lists, decide = self._order
            tried = list(dict.fromkeys(name for i in decide.possible(facts) if i is not None for name in lists[i]))
            if all(self.program(name).judge(facts).accepted is False for name in tried):
                order, missing = tried, frozenset()  # whichever order it is, everybody refuses
        return self._walk([self.program(name) for name in order or []], missing, facts)

    def select_prefill(self, facts: Any) -> Selection:
        """Return what the engine picks for MLA prefill."""
        order, missing = self.prefill_order(facts)
        return self._walk([self.prefill_program(name) for name in order or []], missing, facts)

    def _walk(self, programs: list[BackendProgram], missing: frozenset[str], facts: Any) -> Selection:
        judgements = tuple([program.judge(facts) for program in programs])
        key = (judgements, missing)
        known = self._selections.get(key)
        if known is not None:
            return known
        if len(self._selections) > _CACHE_LIMIT:
            self._selections.clear()
        selected = None
        for judgement in judgements:
            if judgement.accepted is None:
                missing |= judgement.missing
                break
            if judgement.accepted:
                selected = judgement.backend
                break
        selection = self._selections[key] = Selection(list(judgements), selected, missing)
        return selection

    def route(self, facts: Any) -> tuple[str | None, frozenset[str]]:
        """Return the id of the route that a configuration (with its backend filled in) takes."""
        value = self.routing.value(facts)
        return (None, self.routing.missing(facts)) if value is UNKNOWN else (value, frozenset())
