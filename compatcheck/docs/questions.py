"""Everything that a backend's answers at a release depend on, as formulas over the axes of the tables.

What the tables tell apart is what these formulas tell apart. The answers themselves are the resolver's.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec

from compatcheck.docs.axes import KINDS, SINKS, all_shapes
from compatcheck.docs.formula import Choice, Constant, Formula
from compatcheck.docs.formulas import Formulas
from compatcheck.docs.kernel_questions import KernelQuestions
from compatcheck.docs.question import Asked, CheckQuestion, Questions, RuleQuestion
from compatcheck.matrix.versions import contains

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from compatcheck.docs.space import Space
    from compatcheck.resolve.backend import BackendProgram, Check
    from compatcheck.resolve.derived import DecisionList
    from compatcheck.resolve.rules import RuleProgram

FIELD_OF = {"sm": "sm", "kv": "kv_cache_dtype", "sink": "has_sink", "fi": "flashinfer_version"}
"""Axis -> the field that it varies."""
Placed = tuple[int, "RuleProgram"]


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
        self._by_code: dict[str, dict[str, Placed]] = {}
        self._rules: dict[int, tuple[RuleProgram, Formula]] = {}
        self._restrict: dict[str, tuple[Callable[[Formula], Formula], dict[int, Any]]] = {}
        """Backend -> what restricts formulas to it, and its questions by what they were made from."""
        self._stated: dict[tuple[str | int, ...], tuple[Asked, bool]] = {}
        self._of_release: dict[str, dict[Formula, Formula]] = {}

    def read(self, release: str) -> None:
        """Read what all rules and backends of a release ask, so that processes forked afterwards need not."""
        engine = self._space.resolver.engine(self._space.engine_name, release)
        for group in self._space.resolver.rules(self._space.engine_name, release).each:
            for rule in group:
                self._holds(rule)
                self.formulas.of(rule.at_start)
        for backend in self._space.backends(release):
            for check in engine.program(backend).checks:
                self.formulas.of(check.predicate)

    def asked(self, backend: str, release: str) -> Asked:
        """Return what decides the answers of a backend at a release; questions that say nothing are left out."""
        space = self._space
        engine = space.resolver.engine(space.engine_name, release)
        program, rules = engine.program(backend), self.placed(space.rules_of(backend), release)
        key: tuple[str | int, ...] = (backend, id(program), id(engine.routing), *[id(rule) for _, rule in rules])
        known = self._stated.get(key)
        if known is None:
            asked = self._state(backend, program, rules, engine.routing)
            dated = any("release" in formula.axes for formula in asked.questions.formulas())
            known = self._stated[key] = (asked, dated)
        return self._at(known[0], release) if known[1] else known[0]

    def _state(self, backend: str, program: BackendProgram, rules: list[Placed], routing: DecisionList) -> Asked:
        """Return the questions of a backend, whatever the release."""
        formulas, space = self.formulas, self._space
        restrict, known = self._restrict.get(backend, (None, {}))
        if restrict is None:
            fixed = {"backend": self._places["backend"][backend], "kind": self._places["kind"][space.kind(backend).id]}
            restrict = partial(formulas.restrict, at=fixed, known={})
            self._restrict[backend] = (restrict, known)
        checks: list[tuple[CheckQuestion, Check]] = []
        for check in program.checks:
            question = known.get(id(check))
            if question is None:
                refuses = restrict(formulas.of(check.predicate))
                label = (check.code, check.words, refuses.number)
                question = known[id(check)] = CheckQuestion(label, check.code, check.imports, refuses)
            checks.append((question, check))
        held: list[tuple[RuleQuestion, Placed]] = []
        for placed in rules:
            asked = known.get(id(placed[1]))
            if asked is None:
                asked = known[id(placed[1])] = self._rule(placed[1], restrict)
            held.append((asked, placed))
        possible = [routing.cases[place] for place in space.routing_of(backend)]
        choice = formulas.choice([(restrict(formulas.of(condition)), route) for condition, route in possible])
        unasked = restrict(formulas.of(program.unasked))
        return self._together(program.facts["unimportable"], program.answered_by_model, checks, unasked, held, choice)

    def _rule(self, rule: RuleProgram, restrict: Callable[[Formula], Formula]) -> RuleQuestion:
        entry = rule.rule
        early, note = entry.bites == "config" and not entry.as_given, entry.effect == "note"
        holds, at_start = restrict(self._holds(rule)), restrict(self.formulas.of(rule.at_start))
        return RuleQuestion(rule.code, early, note, frozenset(entry.kernels), holds, at_start)

    def _at(self, asked: Asked, release: str) -> Asked:
        """Return what is left of questions at one release."""
        at = {"release": self._places["release"][release]}
        restrict = partial(self.formulas.restrict, at=at, known=self._of_release.setdefault(release, {}))
        said = asked.questions
        checks = [
            one._replace(refuses=restrict(one.refuses)) if "release" in one.refuses.axes else one for one in said.checks
        ]
        rules = [one._replace(holds=restrict(one.holds), at_start=restrict(one.at_start)) for one in said.rules]
        return self._together(
            said.unimportable,
            said.answered_by_model,
            zip(checks, asked.checks, strict=True),
            restrict(said.unasked),
            zip(rules, asked.rules, strict=True),
            restrict(said.routing),
            restrict,
        )

    def _together(
        self,
        unimportable: str | None,
        answered_by_model: frozenset[str],
        checks: Iterable[tuple[CheckQuestion, Check]],
        unasked: Formula,
        rules: Iterable[tuple[RuleQuestion, Placed]],
        routing: Formula,
        restrict: Callable[[Formula], Formula] = lambda formula: formula,
    ) -> Asked:
        assert isinstance(routing, Choice)
        checks = [one for one in checks if not _never(one[0].refuses)]
        rules = [one for one in rules if not _never(one[0].holds)]
        routes = list(dict.fromkeys(routing.values))
        questions = Questions(
            unimportable,
            answered_by_model,
            tuple([question for question, _ in checks]),
            unasked,
            tuple([question for question, _ in rules]),
            routing,
            tuple([(route, self._kernels.of(route, restrict)) for route in routes]),
        )
        return Asked(questions, tuple([check for _, check in checks]), tuple([placed for _, placed in rules]))

    def order(self, release: str) -> Formula:
        """Return what the order of backends at a release depends on."""
        choice = self.formulas.decided(self._space.resolver.engine(self._space.engine_name, release).order_choice)
        return self.formulas.restrict(choice, {"release": self._places["release"][release]}, {})

    def compiled(self, codes: list[str], release: str) -> list[RuleProgram]:
        """Return rules by their codes, compiled for a release."""
        return [rule for _, rule in self.placed(codes, release)]

    def placed(self, codes: list[str], release: str) -> list[Placed]:
        """Return rules by their codes, compiled for a release, each with its place among those asked with it."""
        by_code = self._by_code.get(release)
        if by_code is None:
            groups = self._space.resolver.rules(self._space.engine_name, release).each
            by_code = self._by_code[release] = {
                rule.code: (n, rule) for group in groups for n, rule in enumerate(group)
            }
        return [by_code[code] for code in codes if code in by_code]  # others never speak of the engine

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
