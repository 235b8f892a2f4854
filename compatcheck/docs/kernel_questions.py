"""What the kernels of a route say of a call, as formulas over the axes of the tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from compatcheck.docs.formula import Formula
from compatcheck.docs.formulas import Formulas
from compatcheck.matrix.versions import contains
from compatcheck.resolve.resolver import PHASES, cell_of
from compatcheck.resolve.verdict import RouteAnswer

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from compatcheck.docs.space import Space
    from compatcheck.resolve.kernel import KernelCell, KernelProgram

_AXES = {
    "sm": "sm",
    "kv_dtype": "kv",
    "head_size": "shape",
    "group": "shape",
    "flashinfer_version": "fi",
    "torch_version": "release",
    "cuda_version": "release",
}
"""Field of a kernel's call -> the axis that decides it, for one dtype of the model."""


class PhaseQuestions(NamedTuple):
    """What decides what a kernel says: is it there, how does it refuse, which axes does it take."""

    kernel: str
    present: Formula
    refusals: tuple[Formula, ...]
    takes: tuple[Formula, ...]
    """Empty for a kernel that writes the cache, of which only refusals are asked."""

    def formulas(self) -> tuple[Formula, ...]:
        """Return all formulas."""
        return (self.present, *self.refusals, *self.takes)


class KernelQuestions:
    """Gives the questions of a route's kernels; `dtypes` is what a model has on each SM."""

    def __init__(
        self, formulas: Formulas, space: Space, dtypes: Mapping[str, Any], variants: Mapping[str, Sequence[Any]]
    ) -> None:
        self._formulas = formulas
        self._space = space
        self._dtypes = dtypes
        self._variants = variants
        self._written: dict[str, tuple[PhaseQuestions, ...]] = {}

    def of(self, route: str, restrict: Callable[[Formula], Formula]) -> tuple[PhaseQuestions, ...]:
        """Return what decides what a route's kernels say, in the order of phases, as `restrict` leaves it."""
        phases = self._written.get(route)
        if phases is None:
            phases = self._written[route] = self._write(route)
        return tuple(
            [
                PhaseQuestions(
                    phase.kernel,
                    restrict(phase.present),
                    tuple([restrict(formula) for formula in phase.refusals]),
                    tuple([restrict(formula) for formula in phase.takes]),
                )
                for phase in phases
            ]
        )

    def _write(self, route: str) -> tuple[PhaseQuestions, ...]:
        entry = self._space.engine.routes[route]
        kernels = [(phase, getattr(entry, phase)) for phase in PHASES]
        known = [(phase, id_) for phase, id_ in kernels if id_ in self._space.matrix.kernels]
        calls = {dtype: self._calls(route, dtype) for dtype in dict.fromkeys(self._dtypes.values())}
        return tuple([self._phase(phase, self._space.resolver.kernel(id_), calls) for phase, id_ in known])

    def _calls(self, route: str, dtype: Any) -> Formulas:
        """Return what makes formulas of conditions about a route's calls, for models of one dtype."""
        entry = self._space.engine.routes[route]
        answer = RouteAnswer(
            id=route, title=entry.title, query_dtype=entry.query_dtype, output_dtype=entry.output_dtype
        )

        def call(facts: Any) -> KernelCell:
            return cell_of(msgspec.structs.replace(facts, dtype=dtype), answer)

        variants = {axis: [call(f) for f in self._variants[axis]] for axis in dict.fromkeys(_AXES.values())}
        return Formulas(variants["release"][-1], variants, _AXES, self._formulas.made)

    def _phase(self, phase: str, program: KernelProgram, calls: dict[Any, Formulas]) -> PhaseQuestions:
        formulas = self._formulas

        def ask(predicate: Any) -> Formula:
            if len(calls) == 1:
                return next(iter(calls.values())).of(predicate)
            on = {dtype: formulas.along("dtype", dtype.__eq__) for dtype in calls}
            return formulas.any([formulas.all([on[dtype], of.of(predicate)]) for dtype, of in calls.items()])

        def inside(versions: str | None) -> Formula:
            if not versions:
                return formulas.constant(True)
            return formulas.along("flashinfer_version", lambda version: contains(versions, version))

        own = program.kernel.library == "flashinfer"
        present = formulas.along("flashinfer_version", program.present) if own else formulas.constant(True)
        refusals = [formulas.all([inside(refusal.versions), ask(when)]) for refusal, when in program.refusals]
        takes = [ask(predicate) for predicate in program.takes] if phase != "kv_write" else []
        return PhaseQuestions(program.id, present, tuple(refusals), tuple(takes))
