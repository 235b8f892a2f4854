"""Whole routes as cells: write, prefill, several decode turns over the same pages, with the kernels an engine uses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from compatcheck.matrix.model import Matrix, Route
from compatcheck.resolve.kernel import KernelProgram
from compatcheck.smoke.advisories import Advisories, advised_outcome
from compatcheck.smoke.cell import SmokeCell, cell_id
from compatcheck.smoke.cells import Driver, Target
from compatcheck.smoke.outcome import Expectation

ENGINE_WRITERS = ("vllm.reshape_and_cache_flash",)
"""Writers of the engine that a route cell replaces by plain indexing: they store 16-bit and FP8 entries as they are."""

_HEADS = (128, 256, 512, 64)
_PAGES = (16, 32, 64, 1)


def route_cells(matrix: Matrix, target: Target, drivers: Sequence[Driver]) -> list[SmokeCell]:
    """Return one cell per KV dtype for every route whose prefill and decode kernels can be driven on the target.

    The first head and page size is taken that all kernels of the route support. A route that the engine writes with
    its own kernel is left out for NVFP4, whose layout that kernel alone knows.
    """
    driver = next((d for d in drivers if d.serves("route")), None)
    if driver is None or target.sm == "cpu":
        return []
    advisories = Advisories(matrix)
    cells: list[SmokeCell] = []
    for engine in matrix.engines.values():
        for name, route in engine.routes.items():
            for kv_dtype in ("bfloat16", "fp8_e4m3", "nvfp4"):
                cell = _cell(matrix, target, driver, advisories, name, route, kv_dtype)
                if cell is not None:
                    cells.append(cell)
    return cells


def _cell(
    matrix: Matrix,
    target: Target,
    driver: Driver,
    advisories: Advisories,
    name: str,
    route: Route,
    kv_dtype: str,
) -> SmokeCell | None:
    ids = [route.kv_write, route.prefill, route.decode]
    if None in ids or not _of_kind(name, route, kv_dtype):
        return None
    kernels = [i for i in ids if i and i in matrix.kernels and i not in ENGINE_WRITERS]
    if any(i not in matrix.kernels and i not in ENGINE_WRITERS for i in ids):
        return None
    if not all(str(i).startswith("flashinfer.") for i in kernels):
        return None
    programs = {i: KernelProgram(i, matrix.kernels[i], matrix.sms) for i in kernels}
    query = route.query_dtype or "bfloat16"
    layout = "HND" if "HND" in (route.page_layout or "HND") else "NHD"
    for head in route.head_sizes or _HEADS:
        for page in _PAGES:
            point: dict[str, Any] = {
                "q_dtype": query,
                "kv_dtype": kv_dtype,
                "head_size": head,
                "page_size": page,
                "layout": layout,
                "group": 4,
            }
            at = target.cell(point)
            if all(_takes(program, target, at, i == route.kv_write) for i, program in programs.items()):
                held = next((h for i in kernels if (h := advisories.holding(i, at))), None)
                expected = Expectation(kind="supported", path=("engines", "vllm", "routes", name))
                if held:
                    expected = advised_outcome(*held)
                return SmokeCell(
                    id=cell_id(f"route.{name}", target.sm, point, "whole"),
                    kernel=f"route.{name}",
                    driver=driver.name,
                    symbol="",
                    phase="decode",
                    sm=target.sm,
                    expected=expected,
                    shape="whole",
                    tolerance=max(matrix.kernels[i].tolerance.get(kv_dtype, 0.03) for i in kernels),
                    needs=tuple({need for i in kernels for need in matrix.kernels[i].needs}),
                    route=tuple(str(i) for i in ids),
                    **point,
                )
    return None


def _of_kind(name: str, route: Route, kv_dtype: str) -> bool:
    packed = "nvfp4" in name
    if packed != (kv_dtype == "nvfp4"):
        return False
    return not (packed and route.kv_write in ENGINE_WRITERS)


def _takes(program: KernelProgram, target: Target, at: Any, writer: bool) -> bool:
    version = target.version(program.kernel.library)
    if version and program.present(version) is False:
        return False
    _, axes = program.supports(at)
    if writer:
        axes.pop("q_dtype", None)
    return False not in axes.values() and program.refusal(at) is None
