"""Classes are right: a cell says what the resolver says of every configuration that it stands for."""

from __future__ import annotations

import random
from itertools import product
from typing import Any

import pytest

from compatcheck.docs.axes import SHAPES, SINKS, Shape
from compatcheck.docs.grid import Grid
from compatcheck.matrix.load import LoadedMatrix
from compatcheck.resolve.configuration import Configuration


def said(
    grid: Grid, release: str, backend: str, sm: str, kv: str, shape: Shape, sink: bool, fi: str
) -> tuple[Any, Any]:
    kind = grid.kind(backend)
    given = Configuration(
        engine_version=release,
        flashinfer_version=fi,
        backend=backend,
        sm=sm,
        kv_cache_dtype=kv,
        has_sink=sink,
        use_mla=kind.use_mla,
        use_sparse=kind.use_sparse,
        **shape.fields,
    )
    verdict = grid.resolver.resolve(given, alternatives=False)
    cell = grid.cell(release, backend, sm, kv, shape.id, sink=sink, fi=fi)
    route = verdict.route.id if verdict.route else None
    codes = sorted(finding.code for finding in verdict.findings)
    expected = (verdict.verdict, verdict.engine_accepts, route, verdict.fails_at, codes, verdict.missing)
    found = (
        cell.verdict,
        cell.accepts,
        cell.route,
        cell.fails_at,
        sorted(grid.reasons.items[n].code for n in cell.reasons),
        cell.missing,
    )
    return found, expected


def test_every_cell_of_the_small_matrix(small: LoadedMatrix) -> None:
    grid = Grid(small)
    states = set()
    for release in grid.releases:
        for backend in grid.backends(release):
            shapes = SHAPES[grid.kind(backend).id]
            for sm, kv, shape, sink, fi in product(grid.sms, grid.kv_of(release), shapes, SINKS, grid.flashinfer):
                found, expected = said(grid, release, backend, sm, kv, shape, sink, fi)
                assert found == expected, (release, backend, sm, kv, shape.id, sink, fi)
                states.add(found[0])
    assert states == {"supported", "degraded", "unsupported", "unknown"}


def test_random_cells_of_the_real_matrix(real_grid: Grid) -> None:
    grid, pick = real_grid, random.Random(20261129)
    seen = set()
    for _ in range(1500):
        release = pick.choice(grid.releases)
        backend = pick.choice(grid.backends(release))
        sm, kv = pick.choice(grid.sms), pick.choice(grid.kv_of(release))
        shape = pick.choice(SHAPES[grid.kind(backend).id])
        sink, fi = pick.random() < 0.3, pick.choice(grid.flashinfer)
        found, expected = said(grid, release, backend, sm, kv, shape, sink, fi)
        assert found == expected, (release, backend, sm, kv, shape.id, sink, fi)
        seen.add(found[0])
    assert {"supported", "unsupported"} <= seen


@pytest.mark.parametrize(
    ("release", "backend", "sm", "kv", "fails_at"),
    [
        ("0.28.0", "TURBOQUANT", "8.0", "turboquant_k8v4", "first-request"),
        ("0.29.0", "TURBOQUANT", "8.0", "turboquant_k8v4", "init"),
        ("0.33.0", "TURBOQUANT", "8.0", "turboquant_k8v4", "init"),
        ("0.29.0", "FLASHINFER", "9.0", "fp8", "init"),
    ],
)
def test_the_moment_is_told_apart(real_grid: Grid, release: str, backend: str, sm: str, kv: str, fails_at: str) -> None:
    """The same rule holds in releases that run a prefill at start and in those that do not."""
    (wide,) = [shape for shape in SHAPES[real_grid.kind(backend).id] if shape.fields.get("head_size") == 512]
    found, expected = said(real_grid, release, backend, sm, kv, wide, False, real_grid.flashinfer[0])
    assert found == expected
    assert found[3] == fails_at


def test_words_keep_their_placeholders(small: LoadedMatrix) -> None:
    grid = Grid(small)
    cell = grid.cell("0.33.0", "FLASHINFER", "9.0", "nvfp4", "256")
    (reason,) = [grid.reasons.items[n] for n in cell.reasons]
    assert reason.words == "no <NVFP4> at head_size {head_size}, got {kv_cache_dtype} on {sm.major}"
    assert reason.found == ("head_size", "kv_cache_dtype")


def test_a_dtype_that_the_release_lacks_is_an_error(small: LoadedMatrix) -> None:
    grid = Grid(small)
    with pytest.raises(KeyError, match=r"0\.32\.0 does not accept --kv-cache-dtype nvfp4_ds_mla"):
        grid.cell("0.32.0", "FLASHINFER", "9.0", "nvfp4_ds_mla", "128")
