"""Which values of an axis the resolver cannot tell apart, for a backend at a release.

Two values that get the same answer from every condition that can matter are one class, and the resolver is asked once
for them. What can matter is found with the resolver's own three-valued logic: a rule that is false while the axes are
unknown never holds. The tests compare classes with the resolver's answer for each value.
"""

from __future__ import annotations

from functools import cached_property
from itertools import product
from typing import TYPE_CHECKING, Any

import msgspec

from compatcheck.docs.axes import KINDS, SHAPES, SINKS, Kind, all_shapes, flashinfer_versions
from compatcheck.docs.predicates import Looked, Vector, Walker
from compatcheck.matrix.versions import contains
from compatcheck.resolve.configuration import NULLABLE, Configuration
from compatcheck.resolve.normalise import dtype_on
from compatcheck.resolve.resolver import PHASES, cell_of
from compatcheck.resolve.rules import RuleProgram, compile_rules
from compatcheck.resolve.verdict import RouteAnswer

if TYPE_CHECKING:
    from compatcheck.resolve.resolver import Resolver

AXES = ("sm", "kv", "shape", "sink", "fi")
_FIELD_OF = {"sm": "sm", "kv": "kv_cache_dtype", "sink": "has_sink", "fi": "flashinfer_version"}
_CELL_AXES = {
    "sm": "sm",
    "kv_dtype": "kv",
    "head_size": "shape",
    "group": "shape",
    "flashinfer_version": "fi",
}


class Selector(msgspec.Struct, kw_only=True):
    """What the selector lets through: values that it does not refuse whatever the other axes say."""

    looked: Looked
    kv: list[str]
    sms: list[str]


class ReleaseView:
    """One release: what its compiled checks, rules, routes and kernels depend on."""

    def __init__(
        self,
        resolver: Resolver,
        engine_name: str,
        release: str,
        base: Configuration,
        numbers: dict[Any, int],
        kernels: dict[Any, Looked],
    ) -> None:
        self.resolver = resolver
        self.release = release
        self.base = base
        self.engine = resolver.engine(engine_name, release)
        self._numbers = numbers
        self._kernels = kernels
        self.values: dict[str, list[Any]] = {
            "sm": list(resolver.matrix.sms),
            "kv": list(resolver.matrix.kv_cache_dtypes),
            "sink": list(SINKS),
            "fi": flashinfer_versions(resolver.matrix, self.engine.engine),
        }
        replace = msgspec.structs.replace
        self.variants: dict[str, list[Configuration]] = {
            axis: [replace(base, **{_FIELD_OF[axis]: value}) for value in values]
            for axis, values in self.values.items()
        }
        # The dtype follows the SM: see `Grid.on`.
        dtypes = {sm: dtype_on(resolver.matrix, sm, str(base.dtype)) for sm in self.values["sm"]}
        self._dtypes = dtypes
        self.variants["sm"] = [replace(base, sm=sm, dtype=dtype) for sm, dtype in dtypes.items()]
        self.variants["shape"] = [replace(base, **shape.fields) for shape in all_shapes()]
        self.variants["backend"] = [replace(base, backend=name) for name in self.engine.engine.backends]
        self.variants["kind"] = [replace(base, use_mla=k.use_mla, use_sparse=k.use_sparse) for k in KINDS]
        self.axes = {field: axis for axis, field in _FIELD_OF.items()} | {"backend": "backend"}
        """Configuration field -> the axis that decides it."""
        self.axes |= {"use_mla": "kind", "use_sparse": "kind", "dtype": "sm"}
        self.axes |= {field: "shape" for shape in all_shapes() for field in shape.fields}
        self.walker = Walker(base, self.variants, self.axes, numbers)
        self._rules: dict[str, Looked] = {}
        self._by_code: dict[str, RuleProgram] = {}

    @cached_property
    def rules(self) -> list[RuleProgram]:
        """The rules that speak of attention, compiled."""
        return compile_rules(self.resolver.matrix, self.engine.compiler)

    # ------------------------------------------------------------------------------------ open facts

    def opened(self, backend: str, kind: Kind) -> list[Configuration]:
        """Return a backend's fixed facts with every axis unknown.

        Where a shape gives a field whose absence is an answer (index_topk), one for each shape.
        """
        base = msgspec.structs.replace(
            self.base,
            backend=backend,
            use_mla=kind.use_mla,
            use_sparse=kind.use_sparse,
            dtype=None,
            **dict.fromkeys(_FIELD_OF.values()),
        )
        shapes = SHAPES[kind.id]
        if any(field in NULLABLE for shape in shapes for field in shape.fields):
            return [msgspec.structs.replace(base, **shape.fields) for shape in shapes]
        return [base]

    # -------------------------------------------------------------------------------------- what matters

    def selector(self, backend: str) -> Looked:
        """Return what the selector's checks of a backend depend on, words and order included."""
        program = self.engine.program(backend)
        parts = [self.walker.look(check) for check in program.checks] + [self.walker.look(program.unasked)]
        words = [(check.code, check.words) for check in program.checks]
        together = self.walker.together(parts)
        key = ("selector", repr(words), program.facts["unimportable"], together.number)
        return Looked(self._numbers.setdefault(key, len(self._numbers)), together.vectors)

    def let_through(self, backend: str, opened: list[Configuration]) -> tuple[list[str], list[str]]:
        """Return the KV-cache dtypes and SMs that the selector may accept."""

        def some(**known: Any) -> bool:
            return any(
                not program.refuses(with_) or program.unasked.test(with_) is not False
                for with_ in [msgspec.structs.replace(facts, **known) for facts in opened]
            )

        program = self.engine.program(backend)
        kvs = [kv for kv in self.values["kv"] if some(kv_cache_dtype=kv)]
        return kvs, [sm for sm in self.values["sm"] if some(**self.at_sm(sm))]

    def at_sm(self, sm: str) -> dict[str, str]:
        """Return the fields that an SM decides."""
        return {"sm": sm, "dtype": self._dtypes[sm]}

    def rules_named(self, codes: list[str]) -> list[RuleProgram]:
        """Return rules by their codes."""
        if not self._by_code:
            self._by_code |= {rule.code: rule for rule in self.rules}
        return [self._by_code[code] for code in codes]

    def possible_rules(
        self, opened: list[Configuration], kvs: list[str], sms: list[str], among: list[RuleProgram]
    ) -> list[RuleProgram]:
        """Return the rules of some that can hold for one of these KV-cache dtypes and one of these SMs."""
        replace = msgspec.structs.replace
        by_kv = [replace(facts, kv_cache_dtype=kv) for facts in opened for kv in kvs]
        by_sm = [replace(facts, **self.at_sm(sm)) for facts in opened for sm in sms]
        return [
            rule
            for rule in among
            if _can(rule, opened) and (rule.rule.bites == "config" or (_can(rule, by_kv) and _can(rule, by_sm)))
        ]

    def rule(self, program: RuleProgram) -> Looked:
        """Return what a rule depends on."""
        known = self._rules.get(program.code)
        if known is None:
            parts = [self.walker.look(program.when)]
            rule = program.rule
            if rule.versions and rule.axis == "flashinfer_version":
                inside = [contains(rule.versions, version) for version in self.values["fi"]]
                parts.append(self.walker.along("fi", inside))
            elif rule.versions:
                at = getattr(self.base, rule.axis)
                parts.append(self.walker.along("none", [at and contains(rule.versions, at)]))
            known = self._rules[program.code] = self.walker.together(parts)
        return known

    def named(self, program: RuleProgram) -> Looked:
        """Return what a rule depends on, told apart from other rules that ask the same."""
        looked = self.rule(program)
        key = ("rule", program.code, looked.number)
        return Looked(self._numbers.setdefault(key, len(self._numbers)), looked.vectors)

    def order(self) -> Looked:
        """Return what the order of backends depends on."""
        return self.walker.look(self.engine.order_choice)

    def routes(self, opened: list[Configuration], kvs: list[str], sms: list[str], among: list[int]) -> list[Looked]:
        """Return what the choice among the routes that can be taken depends on, and what their kernels do.

        `among` are the places of the routing's cases that may hold.
        """
        listed = self.engine.routing.cases
        cases = [
            (predicate, route)
            for predicate, route in [listed[place] for place in among]
            if any(predicate.test(facts) is not False for facts in opened)
        ]
        replace = msgspec.structs.replace
        tried = [replace(f, kv_cache_dtype=kv, **self.at_sm(sm)) for f, kv, sm in product(opened, kvs, sms)]
        cases = [(p, route) for p, route in cases if any(p.test(facts) is not False for facts in tried)]
        chosen = self.walker.together([self.walker.look(predicate) for predicate, _ in cases])
        names = ("routes", *[route for _, route in cases], chosen.number)
        looked = [Looked(self._numbers.setdefault(names, len(self._numbers)), chosen.vectors)] if cases else []
        return looked + [self.kernels(route) for route in dict.fromkeys(route for _, route in cases)]

    def kernels(self, route: str) -> Looked:
        """Return what the kernels of a route depend on."""
        key = (route, self.base.dtype, self.base.torch_version, self.base.cuda_version)
        known = self._kernels.get(key)
        if known is None:
            known = self._kernels[key] = self._look_at_kernels(route)
        return known

    def _look_at_kernels(self, route: str) -> Looked:
        """Look with each dtype that a model may have: what `auto` stores is another dtype with each."""
        parts: list[Looked] = []
        for dtype in dict.fromkeys(self._dtypes.values()):
            parts += self._look_at_kernels_with(dtype, route)
        return self.walker.together(parts)

    def _look_at_kernels_with(self, dtype: str, route: str) -> list[Looked]:
        entry = self.engine.engine.routes[route]
        answer = RouteAnswer(
            id=route, title=entry.title, query_dtype=entry.query_dtype, output_dtype=entry.output_dtype
        )
        replace = msgspec.structs.replace
        variants = {
            axis: [cell_of(replace(facts, dtype=dtype), answer) for facts in self.variants[axis]] for axis in AXES
        }
        walker = Walker(cell_of(replace(self.base, dtype=dtype), answer), variants, _CELL_AXES, self._numbers)
        parts: list[Looked] = []
        for phase in PHASES:
            id_ = getattr(entry, phase)
            if id_ not in self.resolver.matrix.kernels:
                continue
            program = self.resolver.kernel(id_)
            parts.append(walker.along("fi", [program.present(version) for version in self.values["fi"]]))
            parts += [walker.look(p) for p in vars(program).values() if hasattr(p, "fields")]
            for refusal, predicate in program.refusals:
                parts.append(walker.look(predicate))
                if refusal.versions:
                    inside = [contains(refusal.versions, version) for version in self.values["fi"]]
                    parts.append(walker.along("fi", inside))
        return parts


def _can(rule: RuleProgram, facts: list[Configuration]) -> bool:
    return any(rule.holds(f) is not False for f in facts)


def number_values(vectors: set[Vector], count: int) -> tuple[list[int], list[int]]:
    """Return the class of each of `count` values, and the first value of each class."""
    numbers: dict[Vector, int] = {}
    classes: list[int] = []
    first: list[int] = []
    for value in range(count):
        signature = tuple([vector[value] for vector in vectors])
        if signature not in numbers:
            numbers[signature] = len(numbers)
            first.append(value)
        classes.append(numbers[signature])
    return classes, first
