"""Everything that a backend's answers at a release depend on, as formulas over the axes of the tables.

What the tables tell apart is what these formulas tell apart. The answers themselves are the resolver's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from compatcheck.docs.axes import KINDS, SINKS, all_shapes
from compatcheck.docs.formula import Choice, Constant, Formula
from compatcheck.docs.formulas import Formulas
from compatcheck.docs.kernel_questions import KernelQuestions, PhaseQuestions
from compatcheck.matrix.versions import contains

if TYPE_CHECKING:
    from collections.abc import Hashable

    from compatcheck.docs.space import Space
    from compatcheck.resolve.rules import RuleProgram

FIELD_OF = {"sm": "sm", "kv": "kv_cache_dtype", "sink": "has_sink", "fi": "flashinfer_version"}
"""Axis -> the field that it varies."""


class CheckQuestion(NamedTuple):
    """A check of the selector. `label` is equal for checks that refuse in the same words for the same reasons."""

    label: Hashable
    code: str
    imports: bool
    refuses: Formula


class RuleQuestion(NamedTuple):
    """A rule outside the selector; `early` where it bites before it."""

    code: str
    early: bool
    note: bool
    kernels: frozenset[str]
    holds: Formula


class Questions(NamedTuple):
    """What decides a backend's answers at a release."""

    unimportable: str | None
    answered_by_model: frozenset[str]
    checks: tuple[CheckQuestion, ...]
    unasked: Formula
    rules: tuple[RuleQuestion, ...]
    routing: Formula
    kernels: tuple[tuple[str, tuple[PhaseQuestions, ...]], ...]
    """Route that may be taken -> what its kernels say, in the order of phases."""

    def formulas(self) -> list[Formula]:
        """Return all formulas."""
        found = [check.refuses for check in self.checks] + [rule.holds for rule in self.rules]
        found += [self.unasked, self.routing]
        return found + [formula for _, phases in self.kernels for phase in phases for formula in phase.formulas()]


class Asker:
    """Gives the questions of one space's backends and releases."""

    def __init__(self, space: Space) -> None:
        self._space = space
        releases, bases = space.releases, [space.base(release) for release in space.releases]
        base, replace = bases[-1], msgspec.structs.replace
        dtypes = {sm: space.on(sm, space.newest).dtype for sm in space.sms}
        values: dict[str, list[Any]] = {
            "sm": space.sms,
            "kv": space.kv_dtypes,
            "sink": list(SINKS),
            "fi": space.flashinfer,
        }
        variants = {axis: [replace(base, **{FIELD_OF[axis]: v}) for v in of] for axis, of in values.items()}
        variants["sm"] = [replace(base, sm=sm, dtype=dtype) for sm, dtype in dtypes.items()]
        variants["shape"] = [replace(base, **shape.fields) for shape in all_shapes()]
        variants["backend"] = [replace(base, backend=name) for name in space.engine.backends]
        variants["kind"] = [replace(base, use_mla=kind.use_mla, use_sparse=kind.use_sparse) for kind in KINDS]
        variants["release"] = bases
        axes = {field: axis for axis, field in FIELD_OF.items()} | {"backend": "backend", "dtype": "sm"}
        axes |= {"use_mla": "kind", "use_sparse": "kind"}
        axes |= {field: "shape" for shape in all_shapes() for field in shape.fields}
        for field in base.__struct_fields__:
            if field not in axes and len({getattr(facts, field) for facts in bases}) > 1:
                axes[field] = "release"
        self.formulas = Formulas(base, variants, axes)
        self._kernels = KernelQuestions(self.formulas, space, dtypes, variants)
        self._places = {
            "backend": {name: at for at, name in enumerate(space.engine.backends)},
            "kind": {kind.id: at for at, kind in enumerate(KINDS)},
            "release": {release: at for at, release in enumerate(releases)},
        }
        self._by_code: dict[str, dict[str, RuleProgram]] = {}
        self._rules: dict[int, tuple[RuleProgram, Formula]] = {}
        self._of_backend: dict[str, dict[Formula, Formula]] = {}
        self._of_release: dict[str, dict[Formula, Formula]] = {}

    def questions(self, backend: str, release: str) -> Questions:
        """Return what decides the answers of a backend at a release; those that say nothing are left out."""
        space = self._space
        engine = space.resolver.engine(space.engine_name, release)
        program = engine.program(backend)
        fixed = {"backend": self._places["backend"][backend], "kind": self._places["kind"][space.kind(backend).id]}
        at = {"release": self._places["release"][release]}
        known, here = self._of_backend.setdefault(backend, {}), self._of_release.setdefault(release, {})
        formulas = self.formulas

        def restrict(formula: Formula) -> Formula:
            return formulas.restrict(formulas.restrict(formula, fixed, known), at, here)

        checks: list[CheckQuestion] = []
        for check in program.checks:
            whole = formulas.restrict(formulas.of(check.predicate), fixed, known)
            refuses = formulas.restrict(whole, at, here)
            if not _never(refuses):
                label = (check.code, check.words, whole.number)
                checks.append(CheckQuestion(label, check.code, check.imports, refuses))
        rules: list[RuleQuestion] = []
        for code in space.rules_of(backend):
            rule = self._rule(code, release)
            holds = restrict(self._holds(rule))
            if not _never(holds):
                entry = rule.rule
                early, note = entry.bites == "config" and not entry.as_given, entry.effect == "note"
                rules.append(RuleQuestion(code, early, note, frozenset(entry.kernels), holds))
        cases = engine.routing.cases
        possible = [cases[place] for place in space.routing_of(backend)]
        routing = formulas.choice([(restrict(formulas.of(condition)), route) for condition, route in possible])
        assert isinstance(routing, Choice)
        routes = list(dict.fromkeys(routing.values))
        return Questions(
            program.facts["unimportable"],
            program.answered_by_model,
            tuple(checks),
            restrict(formulas.of(program.unasked)),
            tuple(rules),
            routing,
            tuple([(route, self._kernels.of(route, at, here)) for route in routes]),
        )

    def order(self, release: str) -> Formula:
        """Return what the order of backends at a release depends on."""
        choice = self.formulas.decided(self._space.resolver.engine(self._space.engine_name, release).order_choice)
        return self.formulas.restrict(choice, {"release": self._places["release"][release]}, {})

    def compiled(self, codes: list[str], release: str) -> list[RuleProgram]:
        """Return rules by their codes, compiled for a release."""
        return [self._rule(code, release) for code in codes]

    def _rule(self, code: str, release: str) -> RuleProgram:
        by_code = self._by_code.get(release)
        if by_code is None:
            groups = self._space.resolver.rules(self._space.engine_name, release).each
            by_code = self._by_code[release] = {rule.code: rule for group in groups for rule in group}
        return by_code[code]

    def _holds(self, rule: RuleProgram) -> Formula:
        known = self._rules.get(id(rule))
        if known is None:
            known = self._rules[id(rule)] = (rule, self._written(rule))
        return known[1]

    def _written(self, rule: RuleProgram) -> Formula:
        when = self.formulas.of(rule.when)
        if not rule.rule.versions:
            return when
        axis = rule.rule.axis
        inside = self.formulas.along(axis, lambda version: version and contains(rule.rule.versions, version))
        return self.formulas.all([inside, when])


def _never(formula: Formula) -> bool:
    return isinstance(formula, Constant) and formula.value is False
