"""Cells of the local GPU, generated from the matrix: what must run, what must be refused, what must not be there."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import combinations, product
from typing import Any, Protocol

from compatcheck.matrix.model import Kernel, Matrix, Refusal
from compatcheck.matrix.versions import contains
from compatcheck.resolve.kernel import KernelCell, KernelProgram
from compatcheck.smoke import domains
from compatcheck.smoke.advisories import Advisories, advised_outcome
from compatcheck.smoke.cell import SmokeCell, cell_id
from compatcheck.smoke.covering import Point, covering
from compatcheck.smoke.outcome import Expectation

FEATURES = ("sliding_window", "soft_cap", "sinks")
_CHANGES = 4
_CHOOSES_OUTPUT = ("gemm", "dequantise")
"""Phases whose output dtype is an axis of its own; elsewhere it follows the query."""


class Driver(Protocol):
    """What cell generation needs to know of a smoke kernel; see `compatcheck.smoke.kernels.base`."""

    name: str
    cpu: bool
    features: tuple[str, ...]
    own_check: str

    def serves(self, kernel: str) -> bool:
        """Return whether this driver runs the kernel of that id."""

    def axes(self, kernel: Kernel) -> dict[str, Sequence[Any]]:
        """Return the values of axes that the driver needs other than the matrix's."""

    def shapes(self, point: Point) -> tuple[str, ...]:
        """Return the shapes in which each point is run."""

    def runs(self, point: Point) -> bool:
        """Return whether the driver can express the point at all."""

    def complete(self, point: Point) -> Point:
        """Return the point with what the kernel's calling convention fixes (an output dtype, say)."""


class Target:
    """What the cells are for: the SM ('cpu' without a GPU) and the versions there."""

    def __init__(
        self, sm: str, flashinfer: str | None = None, torch: str | None = None, cuda: str | None = None
    ) -> None:
        self.sm = sm
        self.flashinfer = flashinfer
        self.torch = torch
        self.cuda = cuda

    def cell(self, point: Point) -> KernelCell:
        """Return a point as the resolver sees it."""
        return KernelCell(
            sm=None if self.sm == "cpu" else self.sm,
            flashinfer_version=self.flashinfer,
            torch_version=self.torch,
            cuda_version=self.cuda,
            **point,
        )

    def version(self, library: str) -> str | None:
        """Return the version of a kernel's library on this target."""
        return {"flashinfer": self.flashinfer, "torch": self.torch}.get(library)


class Plan:
    """The cells of a target, and the kernels that have none and why.

    `declared` counts the cells before --only, --skip and --shard chose among them.
    """

    def __init__(self, cells: list[SmokeCell], left_out: dict[str, str], declared: int | None = None) -> None:
        self.cells = cells
        self.left_out = left_out
        self.declared = len(cells) if declared is None else declared


def plan(matrix: Matrix, target: Target, drivers: Sequence[Driver]) -> Plan:
    """Return every cell that the matrix declares for a target, in declaration order."""
    advisories = Advisories(matrix)
    cells: list[SmokeCell] = []
    left_out: dict[str, str] = {}
    for id_, kernel in matrix.kernels.items():
        driver = next((d for d in drivers if d.serves(id_)), None)
        if driver is None:
            left_out[id_] = "no smoke test drives this kernel"
            continue
        if target.sm == "cpu" and not (driver.cpu and "cpu" in kernel.features):
            left_out[id_] = "needs a GPU"
            continue
        maker = _Maker(matrix, id_, kernel, driver, target, advisories)
        found = list(maker.cells())
        cells += found
        if not found:
            left_out[id_] = f"the matrix declares no cell of it for SM {target.sm}"
    cells += [_own_check(driver, target) for driver in drivers if driver.own_check]
    return Plan(_unique(cells), left_out)


def _own_check(driver: Driver, target: Target) -> SmokeCell:
    """Return the cell of a check of compatcheck's own reference, on which other cells rest."""
    return SmokeCell(
        id=cell_id(driver.own_check, target.sm, {"q_dtype": "bfloat16", "head_size": 128}),
        kernel=driver.own_check,
        driver=driver.name,
        symbol="",
        phase="quantise",
        sm=target.sm,
        expected=Expectation(kind="supported", path=("kernels",)),
        q_dtype="bfloat16",
        head_size=128,
        tolerance=0.0,
    )


def _unique(cells: Iterable[SmokeCell]) -> list[SmokeCell]:
    return list({cell.id: cell for cell in cells}.values())


class _Maker:
    """Makes the cells of one kernel."""

    def __init__(
        self, matrix: Matrix, id_: str, kernel: Kernel, driver: Driver, target: Target, advisories: Advisories
    ) -> None:
        self.id = id_
        self.kernel = kernel
        self.driver = driver
        self.target = target
        self.advisories = advisories
        self.program = KernelProgram(id_, kernel, matrix.sms)

    def cells(self) -> Iterator[SmokeCell]:
        version = self.target.version(self.kernel.library)
        present = self.program.present(version) if version else None
        if present is False:
            yield self._absent(version or "")
            return
        axes = self._axes()
        points = covering(axes, self._supported)
        for point in points:
            yield from self._supported_cells(point)
        if points:
            for feature in FEATURES:
                if feature in self.kernel.features and feature in self.driver.features:
                    yield from self._supported_cells(points[0], feature)
        if self.target.sm != "cpu":
            base = self._point(points[0]) if points else self._fallback(axes)
            yield from self._refusals(base)
            yield from self._advised(points, base)

    # ------------------------------------------------------------------------------------------- supported

    def _axes(self) -> dict[str, Sequence[Any]]:
        kernel, override = self.kernel, self.driver.axes(self.kernel)
        q_dtypes: list[str | None] = list(kernel.q_dtypes) or [None]
        q_dtypes.sort(key=lambda d: domains.DTYPES.index(d) if d in domains.DTYPES else 9)
        causal = [value for value, name in ((True, "causal"), (False, "non_causal")) if name in kernel.features]
        axes: dict[str, Sequence[Any]] = {
            "q_dtype": q_dtypes,
            "kv_dtype": domains.granted_kv(kernel) or [None],
            "head_size": domains.granted(kernel.head_sizes, domains.USUAL_HEADS) if kernel.head_sizes else [None],
            "layout": kernel.layouts or [None],
            "page_size": domains.granted(kernel.page_sizes, domains.USUAL_PAGES) if kernel.page_sizes else [None],
            "group": domains.GROUPS if kernel.phase in ("prefill", "decode") else [None],
            "causal": causal if causal and kernel.phase == "prefill" else [None],
            "o_dtype": kernel.o_dtypes if kernel.o_dtypes and kernel.phase in _CHOOSES_OUTPUT else [None],
        }
        axes.update(override)
        return axes

    def _point(self, choice: Point) -> Point:
        point = {name: value for name, value in choice.items() if value is not None}
        if point.get("kv_dtype") == domains.SAME:
            point["kv_dtype"] = point.get("q_dtype", "bfloat16")
        return self.driver.complete(point)

    def _supported(self, choice: Point) -> bool:
        point = self._point(choice)
        if not self.driver.runs(point):
            return False
        cell = self.target.cell(point)
        answer, axes = self.program.supports(cell)
        if self.target.sm == "cpu":
            axes.pop("sm")
            answer = False not in axes.values()
        return answer is not False and self.program.refusal(cell) is None

    def _supported_cells(self, choice: Point, feature: str | None = None) -> Iterator[SmokeCell]:
        point = self._point(choice)
        expected = self._expectation(point, feature)
        for shape in self.driver.shapes(point):
            yield self._cell(point, expected, feature, shape)

    def _expectation(self, point: Point, feature: str | None = None) -> Expectation:
        cell = self.target.cell(point)
        held = self.advisories.holding(self.id, cell, feature)
        if held:
            return advised_outcome(*held)
        answer, axes = self.program.supports(cell)
        if answer is None and self.target.sm != "cpu":
            missing = [name for name, value in axes.items() if value is None]
            return Expectation(
                kind="unknown",
                path=("kernels", self.id),
                reason=f"the matrix cannot decide without: {', '.join(missing)}",
            )
        return Expectation(kind="supported", path=("kernels", self.id))

    def _cell(self, point: Point, expected: Expectation, feature: str | None, shape: str | None) -> SmokeCell:
        tolerance = self.kernel.tolerance
        query = point.get("q_dtype") or ""
        bound = tolerance.get(point.get("kv_dtype") or query, tolerance.get(query, 0.03))
        code = f"refuses={expected.code}" if expected.kind in ("refused", "compile-error") else None
        return SmokeCell(
            id=cell_id(self.id, self.target.sm, point, feature, code, shape),
            kernel=self.id,
            driver=self.driver.name,
            symbol=self.kernel.symbol,
            phase=self.kernel.phase,
            sm=self.target.sm,
            expected=expected,
            feature=feature,
            shape=shape,
            tolerance=max(bound, tolerance.get(query, 0.0), self.kernel.query_tolerance.get(query, 0.0)),
            needs=tuple(self.kernel.needs),
            graph="cuda_graph" in self.kernel.features,
            **point,
        )

    # ---------------------------------------------------------------------------------- refusals, absence

    def _absent(self, version: str) -> SmokeCell:
        reason = f"{self.kernel.library} {version} has no {self.kernel.symbol.partition(':')[2]}"
        if self.kernel.since:
            reason += f" (first in {self.kernel.since})"
        return SmokeCell(
            id=cell_id(self.id, self.target.sm, {}, "absent"),
            kernel=self.id,
            driver=self.driver.name,
            symbol=self.kernel.symbol,
            phase=self.kernel.phase,
            sm=self.target.sm,
            expected=Expectation(kind="absent", path=("kernels", self.id, "since"), reason=reason),
        )

    def _refusals(self, base: Point) -> Iterator[SmokeCell]:
        for index, refusal in enumerate(self.kernel.refusals):
            version = self.target.flashinfer
            if refusal.versions and (version is None or not contains(refusal.versions, version)):
                continue

            def refused(point: Point, refusal: Refusal = refusal) -> bool:
                return self.driver.runs(point) and self.program.refusal(self.target.cell(point)) is refusal

            point = nearest(base, _choices(partial(domains.mentioned, refusal.when), base), refused)
            if point is None:
                continue
            expected = Expectation(
                kind=refusal.outcome,
                code=refusal.code,
                exception=refusal.exception,
                match=refusal.match,
                path=("kernels", self.id, "refusals", index),
            )
            shapes = self.driver.shapes(point)
            yield self._cell(point, expected, None, shapes[0] if shapes else None)

    def _advised(self, points: list[Point], base: Point) -> Iterator[SmokeCell]:
        """Advisories about combinations that the matrix does not grant: the gates let them through, so they are run."""
        covered = {self._expectation(self._point(choice)).code for choice in points}
        for code, rule in self.advisories.of(self.id):
            if code in covered:
                continue

            def advised(point: Point, code: str = code) -> bool:
                cell = self.target.cell(point)
                if not self.driver.runs(point) or self.program.refusal(cell) is not None:
                    return False
                held = self.advisories.holding(self.id, cell)
                return held is not None and held[0] == code

            point = nearest(base, _choices(partial(domains.advised, rule.when), base), advised)
            if point is None:
                continue
            expected = self._expectation(point)
            for shape in self.driver.shapes(point):
                yield self._cell(point, expected, None, shape)

    def _fallback(self, axes: dict[str, Sequence[Any]]) -> Point:
        """Return a point that the kernel would take on another SM."""
        for values in product(*axes.values()):
            point = self._point(dict(zip(axes, values, strict=True)))
            _, answers = self.program.supports(self.target.cell(point))
            answers.pop("sm")
            if False not in answers.values():
                return point
        return self._point({name: values[0] for name, values in axes.items()})


_POOLS: dict[str, Sequence[Any]] = {
    "kv_dtype": domains.DTYPES,
    "q_dtype": domains.QUERY_DTYPES,
    "head_size": domains.HEADS,
    "page_size": domains.PAGES,
    "layout": domains.LAYOUTS,
    "group": domains.GROUPS,
    "causal": (True, False),
    "tensor_cores": (True, False),
    "o_dtype": domains.QUERY_DTYPES,
}


def _choices(named_by: Callable[[str], list[Any]], base: Point) -> dict[str, list[Any]]:
    """Return the other values of each axis that may be changed, those that the condition names first."""
    choices: dict[str, list[Any]] = {}
    for field, pool in _POOLS.items():
        named = named_by(field)
        if not named and field not in base:
            continue
        values = [*named, *(value for value in pool if value not in named)]
        choices[field] = [value for value in values if value != base.get(field)]
    return choices


def nearest(base: Point, choices: dict[str, list[Any]], wanted: Callable[[Point], bool]) -> Point | None:
    """Return the wanted point that differs from the base in the fewest axes (three at most), or None."""
    if wanted(base):
        return base
    for changes in range(1, _CHANGES):
        for fields in combinations(choices, changes):
            for values in product(*(choices[field] for field in fields)):
                point = {**base, **dict(zip(fields, values, strict=True))}
                alike = _cache_follows(base, point)
                if alike and wanted(alike):
                    return alike
                if wanted(point):
                    return point
    return None


def _cache_follows(base: Point, point: Point) -> Point | None:
    """Where only the query's dtype changed, return the point whose cache has that dtype too: the usual call."""
    query = point.get("q_dtype")
    if query == base.get("q_dtype") or base.get("kv_dtype") != base.get("q_dtype"):
        return None
    return {**point, "kv_dtype": query} if point.get("kv_dtype") == base.get("kv_dtype") else None
