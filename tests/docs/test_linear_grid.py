"""Linear cells say what the resolver says, whatever class of SMs, FlashInfer versions and releases they stand for."""

from __future__ import annotations

import random

import pytest

from compatcheck.docs.linear_grid import LinearGrid
from compatcheck.docs.linear_sheets import LinearCell
from compatcheck.docs.linear_states import MARKS, said_of, short
from compatcheck.matrix.load import LoadedMatrix
from tests.docs.linear import compare, grid_of


@pytest.fixture(scope="module")
def grid(real: LoadedMatrix) -> LinearGrid:
    return grid_of(real)


def test_random_cells_are_the_resolvers(real: LoadedMatrix, grid: LinearGrid) -> None:
    pick = random.Random(5)
    for _ in range(3000):
        release = pick.choice(grid.releases)
        ask = pick.choice(grid.asks(release))
        scheme, sm, fi = pick.choice(grid.schemes), pick.choice(grid.sms), pick.choice(grid.flashinfer)
        compare(real, grid, release, scheme, ask, sm, fi)


def test_every_cell_of_the_small_matrix(small: LoadedMatrix) -> None:
    grid = grid_of(small)
    states = set()
    for release in grid.releases:
        for ask in grid.asks(release):
            for scheme in grid.schemes:
                for sm in grid.sms:
                    for fi in grid.flashinfer:
                        compare(small, grid, release, scheme, ask, sm, fi)
                        states.add(said_of(grid, grid.cell(release, scheme, ask, sm, fi), ask).state)
    assert states == {"runs", "degraded", "fails", "unknown", "refused"}


def test_a_request_that_another_kernel_answers_is_said(grid: LinearGrid) -> None:
    ask = grid.ask("0.33.0", "CutlassNvFp4LinearKernel")
    cell = grid.cell("0.33.0", "nvfp4_w4a16", ask, "12.0")
    said = said_of(grid, cell, ask)
    assert (said.state, said.codes) == ("other", ("linear-backend-not-for-layer",))
    assert MARKS[said.state] == "other"


def test_a_refusal_names_its_gate_before_the_general_code(grid: LinearGrid) -> None:
    ask = grid.ask("0.33.0", "TorchNvFp4LinearKernel")
    said = said_of(grid, grid.cell("0.33.0", "nvfp4_w4a4", ask, "12.0"), ask)
    assert (said.state, said.codes) == ("refused", ("linear-torch-sm", "no-linear-kernel"))


def test_ways_to_ask_by_release(grid: LinearGrid) -> None:
    ways = {
        (release, kernel): grid.ask(release, kernel).fields
        for release, kernel in (
            ("0.19.1", "MarlinNvFp4LinearKernel"),
            ("0.21.0", "EmulationNvFp4LinearKernel"),
            ("0.33.0", "B12xNvFp4W4A16LinearKernel"),
        )
    }
    assert list(ways.values()) == [
        {"nvfp4_gemm_backend": "marlin"},
        {"nvfp4_gemm_backend": "emulation"},
        {"linear_backend": "b12x", "disabled_kernels": ("B12xNvFp4LinearKernel",)},
    ]
    assert set(grid.ask("0.21.0", "FbgemmNvFp4LinearKernel").fields) == {"disabled_kernels"}
    with pytest.raises(KeyError):
        grid.ask("0.19.1", "FbgemmNvFp4LinearKernel")


@pytest.mark.parametrize("release", ["0.22.0", "0.24.0", "0.33.0"])
def test_asking_for_a_kernel_never_gives_another_w4a4_kernel(grid: LinearGrid, release: str) -> None:
    for ask in grid.asks(release):
        cells: list[LinearCell] = [grid.cell(release, "nvfp4_w4a4", ask, sm) for sm in grid.sms]
        assert ask.kernel is None or {cell.selected for cell in cells} <= {ask.kernel, None}, ask


def test_short_names(grid: LinearGrid) -> None:
    names = [short(name) for name in grid.linear.kernels]
    assert len(set(names)) == len(names)
    assert {"Marlin", "FlashInferCuteDslW4A16", "B12xW4A16"} <= set(names)
