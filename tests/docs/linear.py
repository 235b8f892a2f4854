"""Cells of linear layers against the resolver's own verdicts, and small matrices that say something else of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from compatcheck.docs.linear_asks import Ask
from compatcheck.docs.linear_grid import LinearGrid
from compatcheck.docs.site import Site
from compatcheck.matrix.linear_model import LinearKernel
from compatcheck.matrix.load import LoadedMatrix
from compatcheck.resolve.configuration import Configuration

replace = msgspec.structs.replace


def grid_of(loaded: LoadedMatrix) -> LinearGrid:
    grid = Site(loaded, Path("none")).linear
    assert grid is not None
    return grid


def compare(loaded: LoadedMatrix, grid: LinearGrid, release: str, scheme: str, ask: Ask, sm: str, fi: str) -> None:
    given = Configuration(engine_version=release, flashinfer_version=fi, sm=sm, linear=scheme, **ask.fields)
    verdict = loaded.resolver.resolve(given, alternatives=False)
    cell = grid.cell(release, scheme, ask, sm, fi)
    reasons = [grid.reasons.items[number] for number in cell.reasons]
    found = (cell.verdict, cell.accepts, cell.selected, cell.fails_at, [r.code for r in reasons], cell.missing)
    expected = (
        verdict.verdict,
        verdict.engine_accepts,
        verdict.selected,
        verdict.fails_at,
        [f.code for f in verdict.findings],
        verdict.missing,
    )
    assert found == expected, given
    assert [r.words for r in reasons] == [f.words for f in verdict.findings]
    assert (cell.untested is None) == (verdict.untested is None)
    assert cell.compute == (verdict.linear.compute if verdict.linear is not None else None)
    rejected = {tried.kernel: (tried.words,) for tried in cell.tried if tried.words is not None}
    assert rejected == (verdict.rejected or {})


def compare_everything(loaded: LoadedMatrix) -> LinearGrid:
    """Compare every cell of a W4A4 layer; return the grid."""
    grid = grid_of(loaded)
    for release in grid.releases:
        for ask in grid.asks(release):
            for sm in grid.sms:
                for fi in grid.flashinfer:
                    compare(loaded, grid, release, "nvfp4_w4a4", ask, sm, fi)
    return grid


def kernels_of(loaded: LoadedMatrix) -> dict[str, LinearKernel]:
    """Return the linear kernels of a matrix."""
    linear = loaded.matrix.engines["vllm"].linear
    assert linear is not None
    return linear.kernels


def changed(loaded: LoadedMatrix, kernels: dict[str, LinearKernel], **fields: Any) -> LoadedMatrix:
    """Return a matrix with other linear kernels, more `facts`, and perhaps other `releases`, `sms` or `rules`."""
    engine = loaded.matrix.engines["vllm"]
    assert engine.linear is not None
    linear = replace(engine.linear, kernels={**engine.linear.kernels, **kernels})
    facts, releases = engine.facts | fields.pop("facts", {}), fields.pop("releases", engine.releases)
    engine = replace(engine, linear=linear, facts=facts, releases=releases)
    return LoadedMatrix(replace(loaded.matrix, engines={"vllm": engine}, **fields), loaded.lines, loaded.digest)
