"""Linear cells say what the resolver says, whatever class of SMs, FlashInfer versions and releases they stand for."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import msgspec
import pytest

from compatcheck.docs.linear_asks import Ask
from compatcheck.docs.linear_grid import LinearGrid
from compatcheck.docs.linear_sheets import LinearCell
from compatcheck.docs.linear_states import MARKS, said_of, short
from compatcheck.docs.site import Site
from compatcheck.matrix.load import LoadedMatrix
from compatcheck.matrix.model import DerivedFact, FactCase, FactList, JointRule
from compatcheck.resolve.configuration import Configuration


def grid_of(loaded: LoadedMatrix) -> LinearGrid:
    grid = Site(loaded, Path("none")).linear
    assert grid is not None
    return grid


@pytest.fixture(scope="module")
def grid(real: LoadedMatrix) -> LinearGrid:
    return grid_of(real)


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


def test_a_note_about_flashinfer_is_not_lost(small: LoadedMatrix) -> None:
    """A note that holds for some versions only must not be decided without one."""
    matrix = small.matrix
    rule = msgspec.structs.replace(
        matrix.rules["linear-slow"], effect="note", versions="<0.7.0.dev0", axis="flashinfer_version"
    )
    changed = msgspec.structs.replace(matrix, rules={**matrix.rules, "linear-slow": rule})
    loaded = LoadedMatrix(changed, small.lines, small.digest)
    grid = grid_of(loaded)
    for fi in grid.flashinfer:
        compare(loaded, grid, "0.33.0", "nvfp4_w4a4", grid.ask("0.33.0", "PlainNvFp4LinearKernel"), "12.0", fi)


def test_a_later_kernels_gate_about_flashinfer_is_not_lost(small: LoadedMatrix) -> None:
    """What is passed over is shown, too, so it must not be said of all versions where it holds for some."""
    engine = small.matrix.engines["vllm"]
    assert engine.linear is not None
    order = next(case.order for case in engine.linear.orders[-1].cases if case.when is None)
    later = engine.linear.kernels[order[-1]]
    gate = JointRule(code="linear-late", words="late", when={"flashinfer_version": "<0.7.0.dev0"})
    kernels = {**engine.linear.kernels, order[-1]: msgspec.structs.replace(later, gates=[gate])}
    linear = msgspec.structs.replace(engine.linear, kernels=kernels)
    engines = {"vllm": msgspec.structs.replace(engine, linear=linear)}
    quiet = {code: rule for code, rule in small.matrix.rules.items() if rule.kind != "linear"}  # about FlashInfer
    matrix = msgspec.structs.replace(small.matrix, engines=engines, rules=quiet)
    loaded = LoadedMatrix(matrix, small.lines, small.digest)
    grid = grid_of(loaded)
    refused = set()
    for ask in grid.asks("0.33.0"):
        for sm in grid.sms:
            for fi in grid.flashinfer:
                compare(loaded, grid, "0.33.0", "nvfp4_w4a4", ask, sm, fi)
                tried = grid.cell("0.33.0", "nvfp4_w4a4", ask, sm, fi).tried
                refused |= {one.code == "linear-late" for one in tried if one.kernel == order[-1]}
    assert refused == {True, False}


@pytest.mark.parametrize("field", ["flashinfer_version", "sm", "engine_version"])
def test_what_only_a_text_names_is_told_apart(field: str, small: LoadedMatrix) -> None:
    engine, replace = small.matrix.engines["vllm"], msgspec.structs.replace
    assert engine.linear is not None
    first, *others = engine.linear.kernels.items()
    gate = JointRule(code="linear-never", words=f"not with {{{field}}}", when={"sm": [*small.matrix.sms, "12.1"]})
    kernels = {first[0]: replace(first[1], gates=[gate]), **{name: replace(one, gates=[]) for name, one in others}}
    releases = {**engine.releases, "0.34.0": engine.releases["0.33.0"]}
    engine = replace(engine, releases=releases, linear=replace(engine.linear, kernels=kernels))
    sms = {**small.matrix.sms, "12.1": small.matrix.sms["12.0"]}
    loaded = LoadedMatrix(replace(small.matrix, sms=sms, engines={"vllm": engine}), small.lines, small.digest)
    grid = grid_of(loaded)
    for release in grid.releases:
        for ask in grid.asks(release):
            for sm in grid.sms:
                for fi in grid.flashinfer:
                    compare(loaded, grid, release, "nvfp4_w4a4", ask, sm, fi)


def test_how_a_kernel_computes_with_a_version_is_told_apart(small: LoadedMatrix) -> None:
    engine, replace = small.matrix.engines["vllm"], msgspec.structs.replace
    assert engine.linear is not None
    cases = [FactCase(value="native", when={"flashinfer_version": "<0.7.0.dev0"})]
    kernels = {name: replace(one, compute_where=cases, kernel=None) for name, one in engine.linear.kernels.items()}
    engine = replace(engine, linear=replace(engine.linear, kernels=kernels))
    loaded = LoadedMatrix(replace(small.matrix, engines={"vllm": engine}), small.lines, small.digest)
    grid = grid_of(loaded)
    for ask in grid.asks("0.33.0"):
        for sm in grid.sms:
            for fi in grid.flashinfer:
                compare(loaded, grid, "0.33.0", "nvfp4_w4a4", ask, sm, fi)


def test_a_derived_fact_that_a_release_changes_tells_it_apart(small: LoadedMatrix) -> None:
    engine, replace = small.matrix.engines["vllm"], msgspec.structs.replace
    assert engine.linear is not None
    name, plain = "PlainNvFp4LinearKernel", engine.linear.kernels["PlainNvFp4LinearKernel"]
    cases = [FactCase(value=True, when={"sm": "9.x"}, until="0.34.0"), FactCase(value=False)]
    odd = DerivedFact(title="odd", versions=[FactList(since="0.32.0", cases=cases)])
    gate = JointRule(code="linear-odd", words="odd", when={"odd": True})
    linear = replace(engine.linear, kernels={**engine.linear.kernels, name: replace(plain, gates=[gate])})
    releases = {**engine.releases, "0.34.0": engine.releases["0.33.0"]}
    engine = replace(engine, linear=linear, releases=releases, facts={**engine.facts, "odd": odd})
    loaded = LoadedMatrix(replace(small.matrix, engines={"vllm": engine}), small.lines, small.digest)
    grid = grid_of(loaded)
    for release in grid.releases:
        for sm in grid.sms:
            for fi in grid.flashinfer:
                compare(loaded, grid, release, "nvfp4_w4a4", grid.ask(release, name), sm, fi)


@pytest.mark.parametrize("when", [{"sm": "12.1"}, {"flashinfer_version": ">=0.6.15"}])
def test_what_only_a_derived_fact_asks_is_told_apart(when: dict[str, Any], small: LoadedMatrix) -> None:
    engine, replace = small.matrix.engines["vllm"], msgspec.structs.replace
    assert engine.linear is not None
    sms = {**small.matrix.sms, "12.1": small.matrix.sms["12.0"]}
    cases = [FactCase(value=True, when=when), FactCase(value=False)]
    odd = DerivedFact(title="odd", versions=[FactList(since="0.32.0", cases=cases)])
    gate = JointRule(code="linear-odd", words="odd", when={"odd": True})
    kernels = {name: replace(kernel, gates=[gate], kernel=None) for name, kernel in engine.linear.kernels.items()}
    engine = replace(engine, linear=replace(engine.linear, kernels=kernels), facts={**engine.facts, "odd": odd})
    loaded = LoadedMatrix(replace(small.matrix, sms=sms, engines={"vllm": engine}), small.lines, small.digest)
    grid = grid_of(loaded)
    for ask in grid.asks("0.33.0"):
        for sm in grid.sms:
            for fi in grid.flashinfer:
                compare(loaded, grid, "0.33.0", "nvfp4_w4a4", ask, sm, fi)


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
