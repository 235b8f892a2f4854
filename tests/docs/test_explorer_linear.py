"""The explorer's table of NVFP4 GEMM kernels in a real headless Chromium, and random cells as `check --linear` says."""

from __future__ import annotations

import json
import random
import shlex
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from compatcheck.cli.main import main
from compatcheck.docs.linear_grid import LinearGrid
from compatcheck.docs.render import render_all
from compatcheck.docs.site import Site
from compatcheck.matrix.load import LoadedMatrix
from tests.docs.browser import Browser, body, choose, find_chromium
from tests.docs.conftest import without_linear
from tests.docs.test_explorer import CONTRAST

CHROMIUM = find_chromium()
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no chromium: apt-get install chromium")


@pytest.fixture
def linear(page: Browser) -> Browser:
    choose(page, "t", "linear")
    return page


@pytest.fixture(scope="module")
def grid(real_site: Site) -> LinearGrid:
    assert real_site.linear is not None
    return real_site.linear


def visible(page: Browser) -> list[str]:
    found: list[str] = page.run(
        "[...document.querySelectorAll('#controls select, #controls input')]"
        ".filter(e => e.getClientRects().length).map(e => e.id)"
    )
    return found


def test_controls_are_those_of_the_table(page: Browser) -> None:
    assert visible(page) == ["t", "sm", "v", "fi", "kv", "kind", "head", "sink", "filter"]
    choose(page, "t", "linear")
    assert visible(page) == ["t", "sm", "v", "fi", "layer", "filter"]
    page.run("document.querySelector('button[type=reset]').click()")
    assert visible(page) == ["t", "sm", "v", "fi", "kv", "kind", "head", "sink", "filter"]


def test_a_row_for_each_way_to_ask(linear: Browser, grid: LinearGrid) -> None:
    rows = body(linear)
    names = [row[0] for row in rows]
    assert names[0] == "the engine's choice"
    assert names[-1] == "with VLLM_BATCH_INVARIANT"
    assert sorted(names[1:-1]) == sorted(grid.program(grid.newest).kernels)
    assert {len(row) for row in rows} == {1 + len(grid.sms)}
    by_name = {row[0]: dict(zip(grid.sms, row[1:], strict=True)) for row in rows}
    assert by_name["the engine's choice"]["9.0"] == "degraded: Humming"
    assert by_name["FlashInferCutlassNvFp4LinearKernel"]["12.0"] == "yes (picked)"
    assert by_name["FlashInferTrtllmNvFp4LinearKernel"]["12.0"] == "fails"
    assert by_name["TorchNvFp4LinearKernel"]["12.0"] == "no"


def test_filters(linear: Browser, grid: LinearGrid) -> None:
    choose(linear, "layer", "nvfp4_w4a16")
    choose(linear, "sm", "12.0")
    rows = {row[0]: row for row in body(linear)}
    assert rows["CutlassNvFp4LinearKernel"][2] == "other: FlashInferCuteDslW4A16"
    assert rows["FlashInferCuteDslNvFp4LinearKernel"][4] == "no-linear-kernel"
    assert rows["the engine's choice"][2:4] == ["yes: Marlin", "weight-only"]
    choose(linear, "fi", "0.6.13")
    assert {row[0]: row for row in body(linear)}["CutlassNvFp4LinearKernel"][2] == "other: Marlin"
    choose(linear, "layer", "nvfp4_w4a4")
    choose(linear, "fi", "pinned")
    order = [tried.kernel for tried in grid.engine_pick(grid.newest, "nvfp4_w4a4", "12.0").tried]
    assert [row[0] for row in body(linear)][1 : 1 + len(order)] == order
    assert body(linear)[1][1] == "1"
    assert {row[0]: row[4] for row in body(linear)}["TorchNvFp4LinearKernel"] == "linear-torch-sm, no-linear-kernel"
    choose(linear, "v", "0.19.1")
    status = linear.run("document.getElementById('status').textContent")
    assert "asks for Fbgemm, Emulation alone." in status
    linear.run(
        "(() => { const f = document.getElementById('filter'); f.value = 'marlin';"
        " f.dispatchEvent(new Event('input')); })()"
    )
    assert [row[0] for row in body(linear)] == ["MarlinNvFp4LinearKernel"]


def test_a_cell_shows_everything_and_its_permalink_leads_back(linear: Browser, explorer: Path) -> None:
    linear.run("document.querySelector('button[data-b=FlashInferTrtllmNvFp4LinearKernel][data-sm=\"12.0\"]').click()")
    title = linear.run("document.getElementById('detail-title').textContent")
    text = linear.run("document.getElementById('detail').textContent")
    assert title == "FlashInferTrtllmNvFp4LinearKernel on SM 12.0: fails"
    for said in (
        "linear-trtllm-sm (unsupported)",
        "native: FP4 tensor cores",
        "no padding stated; K per rank must be a multiple of 16",
        "flashinfer.mm_fp4.trtllm",
        "untested, no live run: known by reading",
        "is_supported@0.33.0",
        "--linear nvfp4_w4a4 --linear-backend flashinfer_trtllm",
        "the engine's choice -> FlashInferCutlass",
    ):
        assert said in text, said
    link = linear.run("document.querySelector('#detail .tools a').href")
    assert "t=linear" in link
    linear.open(link)
    assert linear.run("document.getElementById('detail-title').textContent") == title
    linear.run("[...document.querySelectorAll('#detail li a')].find(a => a.textContent.includes('->')).click()")
    linear.run("new Promise(done => setTimeout(done, 50))")
    assert linear.run("document.getElementById('detail-title').dataset.verdict") == "supported"
    linear.open(explorer.as_uri() + "#t=linear&layer=w9&b=MarlinNvFp4LinearKernel&at=99&v=1")
    assert linear.run("document.getElementById('detail').hidden") is True
    assert linear.run("document.getElementById('layer').value") == "nvfp4_w4a4"


def test_what_is_passed_over_leads_to_its_gate(linear: Browser) -> None:
    linear.run("document.querySelector('button[data-b=engine][data-sm=\"9.0\"]').click()")
    links = linear.run(
        "[...document.querySelectorAll('#detail dd li a')].map(a => [a.textContent, a.getAttribute('href')])"
    )
    assert ["FlashInferCuteDslNvFp4LinearKernel", "rules/linear-cutedsl-sm.md"] in links
    assert ["CutlassNvFp4LinearKernel", "rules/linear-vllm-cutlass.md"] in links


def test_keyboard(linear: Browser) -> None:
    linear.run("document.querySelector('#answers td.cell button').focus()")
    where = "[document.activeElement.dataset.b, document.activeElement.dataset.sm]"
    first = linear.run(where)
    linear.press("ArrowRight")
    linear.press("ArrowDown")
    moved = linear.run(where)
    assert first[0] == "engine"
    assert moved[0] != first[0]
    assert moved[1] != first[1]
    assert linear.run("document.querySelectorAll('#answers button[tabindex=\"0\"]').length") == 1
    linear.press("Enter")
    assert linear.run("document.getElementById('detail').hidden") is False
    assert linear.run(where) == moved
    linear.press("Escape")
    assert linear.run("document.getElementById('detail').hidden") is True
    assert linear.run(where) == moved


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_contrast_and_names(linear: Browser, scheme: str) -> None:
    linear.page("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
    choose(linear, "layer", "nvfp4_w4a16")
    linear.run("document.querySelector('button[data-b=CutlassNvFp4LinearKernel][data-sm=\"12.0\"]').click()")
    assert linear.run(CONTRAST) == []
    nodes = linear.page("Accessibility.getFullAXTree")["nodes"]
    roles = {"button", "combobox", "checkbox", "searchbox", "link"}
    named = [(n["role"]["value"], n.get("name", {}).get("value")) for n in nodes if not n["ignored"] and "role" in n]
    asked = [(role, name) for role, name in named if role in roles]
    assert len(asked) > 50
    assert [role for role, name in asked if not name] == []
    linear.page("Emulation.setEmulatedMedia", features=[])


def test_without_linear_layers_there_is_nothing_to_switch_to(
    browser: Browser, small: LoadedMatrix, tmp_path: Path
) -> None:
    files = render_all(without_linear(small), tmp_path)
    assert "nvfp4-linear.md" not in files
    assert "rules/no-linear-kernel.md" not in files
    assert "NVFP4 linear layers" not in files["changes/0.33.0.md"] + files["index.md"]
    (tmp_path / "explorer.html").write_text(files["explorer.html"], "utf-8")
    browser.errors.clear()
    browser.open((tmp_path / "explorer.html").as_uri() + "#t=linear&b=engine&at=9.0")
    assert visible(browser) == ["sm", "v", "fi", "kv", "kind", "head", "sink", "filter"]
    assert {row[0] for row in body(browser)} == {"FLASHINFER", "PLAIN"}
    assert browser.errors == []


def test_random_cells_equal_check(linear: Browser, grid: LinearGrid, tmp_path: Path) -> None:
    pick = random.Random(6)
    expected: list[dict[str, Any]] = []
    configurations: list[dict[str, Any]] = []
    for _ in range(200):
        release = pick.choice(grid.releases)
        state = {
            "t": "linear",
            "v": release,
            "fi": pick.choice(["pinned", *grid.flashinfer]),
            "layer": pick.choice(grid.schemes),
            "b": pick.choice(grid.asks(release)).id,
            "at": pick.choice(grid.sms),
        }
        linear.run(f"location.hash = new URLSearchParams({json.dumps(state)}).toString()")
        linear.run("new Promise(done => setTimeout(done, 10))")
        shown = linear.run(
            "({verdict: document.getElementById('detail-title').dataset.verdict,"
            " codes: [...document.querySelectorAll('#detail .reason h3 a')].map(a => a.textContent).sort(),"
            " picked: [...document.querySelectorAll('#detail dt')].find(n => n.textContent === 'Picked')"
            ".nextElementSibling.textContent.split(':')[0],"
            " command: document.getElementById('command').textContent})"
        )
        configurations.append(_configuration(shown.pop("command")))
        expected.append(shown)
    batch = tmp_path / "cells.jsonl"
    batch.write_text("".join(json.dumps(c) + "\n" for c in configurations), encoding="utf-8")
    result = CliRunner().invoke(main, ["check", "--batch", str(batch), "--format", "jsonl"])
    answers = [json.loads(line) for line in result.stdout.splitlines()]
    found = [
        {
            "verdict": a["verdict"],
            "codes": sorted(f["code"] for f in a.get("findings", [])),
            "picked": a.get("selected") or "none",
        }
        for a in answers
    ]
    assert len(found) == 200
    assert found == expected
    assert {e["verdict"] for e in expected} == {"supported", "degraded", "unsupported"}


def test_the_command_of_a_cell_is_one_that_check_takes(linear: Browser) -> None:
    for id_, at in (("FlashInferCuteDslNvFp4LinearKernel", "10.0"), ("batch-invariant", "9.0")):
        linear.run(f"location.hash = 't=linear&b={id_}&at={at}'")
        linear.run("new Promise(done => setTimeout(done, 20))")
        words = shlex.split(linear.run("document.getElementById('command').textContent"))
        result = CliRunner().invoke(main, [*words[1:], "--no-host", "--format", "json"])
        answer = json.loads(result.stdout)
        assert answer["verdict"] == linear.run("document.getElementById('detail-title').dataset.verdict")


def _configuration(command: str) -> dict[str, Any]:
    """Return the configuration that the page's `compatcheck check` line spells out."""
    words = shlex.split(command)
    assert words[:2] == ["compatcheck", "check"]
    values: dict[str, Any] = {}
    index = 2
    while index < len(words):
        name = words[index].removeprefix("--").replace("-", "_")
        given = index + 1 < len(words) and not words[index + 1].startswith("--")
        value: Any = words[index + 1] if given else True
        values[name] = value.split(",") if name == "disabled_kernels" else value
        index += 2 if given else 1
    return values
