"""The explorer in a real headless Chromium: filters, permalinks, keyboard, contrast, 200 cells as `check` says."""

from __future__ import annotations

import json
import random
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from compatcheck.cli.main import main
from compatcheck.docs.axes import SHAPES
from compatcheck.docs.grid import Grid
from compatcheck.docs.pages.explorer import embed
from compatcheck.docs.states import MARKS, said_of
from compatcheck.matrix.load import LoadedMatrix
from tests.docs.browser import Browser, body, choose, find_chromium

CHROMIUM = find_chromium()
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no chromium: apt-get install chromium")

LIMIT = 2_000_000


def test_size(explorer: Path) -> None:
    assert explorer.stat().st_size < LIMIT


def test_embedded_text_cannot_leave_its_script() -> None:
    assert embed({"a": "</script><b>&\u2028"}) == '{"a":"\\u003c/script\\u003e\\u003cb\\u003e\\u0026\\u2028"}'


def test_starts_with_every_sm_and_a_row_per_backend(page: Browser, real_grid: Grid) -> None:
    standard = [b for b in real_grid.backends(real_grid.newest) if real_grid.kind(b).id == "standard"]
    rows = body(page)
    assert sorted(row[0] for row in rows) == sorted(standard)
    assert {len(row) for row in rows} == {1 + len(real_grid.sms)}


def test_filters(page: Browser, real_grid: Grid) -> None:
    choose(page, "sm", "12.0")
    choose(page, "kv", "nvfp4")
    rows = {row[0]: row for row in body(page)}
    cell = real_grid.cell(real_grid.newest, "FLASHINFER", "12.0", "nvfp4", "128")
    assert rows["FLASHINFER"][2] == MARKS[said_of(real_grid.reasons, cell).state]
    choose(page, "kind", "mla")
    assert "TRITON_MLA" in {row[0] for row in body(page)}
    assert "FLASHINFER" not in {row[0] for row in body(page)}
    choose(page, "v", real_grid.releases[0])
    assert page.run("document.getElementById('status').textContent").endswith("does not accept --kv-cache-dtype nvfp4.")
    page.run("document.querySelector('button[type=reset]').click()")
    page.run(
        "(() => { const f = document.getElementById('filter'); f.value = 'flash';"
        " f.dispatchEvent(new Event('input')); })()"
    )
    assert all("FLASH" in row[0] for row in body(page))
    assert len(body(page)) > 1


def test_rows_stand_in_the_order_tried(page: Browser, real: LoadedMatrix, real_grid: Grid) -> None:
    choose(page, "sm", "10.0")
    grid = real_grid
    facts = grid.facts(grid.newest, "FLASHINFER", "10.0", "auto", SHAPES["standard"][3])
    order, _ = real.resolver.engine("vllm", grid.newest).order(facts)
    assert order
    present = [name for name in order if name in grid.backends(grid.newest)]
    assert [row[0] for row in body(page)][: len(present)] == present
    assert body(page)[0][1] == "1"


def test_permalink_leads_back_to_the_cell(page: Browser, explorer: Path) -> None:
    choose(page, "kv", "fp8")
    choose(page, "head", "256")
    page.run("document.querySelector('button[data-b=FLASH_ATTN][data-sm=\"8.0\"]').click()")
    title = page.run("document.getElementById('detail-title').textContent")
    link = page.run("document.querySelector('#detail .tools a').href")
    assert title.startswith("FLASH_ATTN on SM 8.0: no")
    assert "kv=fp8" in link
    page.open(link)
    assert page.run("document.getElementById('detail-title').textContent") == title
    assert page.run("document.getElementById('head').value") == "256"
    page.open(explorer.as_uri() + "#v=9.9&kv=nonsense&sm=&b=%3Cb%3E&at=9.0&sink=7&kind=x&head=y")
    assert page.run("document.getElementById('v').value") != ""
    assert page.run("document.getElementById('detail').hidden") is True


def test_a_link_names_the_release(page: Browser, real_grid: Grid) -> None:
    page.run("document.querySelector('button[data-b=FLASH_ATTN][data-sm=\"8.0\"]').click()")
    assert f"v={real_grid.newest}&" in page.run("location.hash")
    assert f"v={real_grid.newest}&" in page.run("document.querySelector('#detail .tools a').href")


def test_paper_says_what_was_asked(page: Browser, real_grid: Grid) -> None:
    choose(page, "kv", "fp8")
    seen = "getComputedStyle(document.getElementById('asked')).display"
    assert page.run(seen) == "none"
    page.page("Emulation.setEmulatedMedia", media="print")
    try:
        assert page.run(seen) == "block"
        said = page.run("document.getElementById('asked').textContent")
    finally:
        page.page("Emulation.setEmulatedMedia", media="")
    for part in (f"vLLM {real_grid.newest}", "FlashInfer ", "KV-cache dtype fp8", "Head size 128", "without attention"):
        assert part in said


@pytest.mark.parametrize("asked", ["kv=nvfp5", "v=0.99.0", "head=999", "fi=9.9.9", "sm=13.0"])
def test_a_link_to_what_is_not_there_opens_no_other_cell(page: Browser, asked: str) -> None:
    page.run(f"location.hash = '{asked}&b=FLASHINFER&at=9.0'")
    page.run("new Promise(done => setTimeout(done, 50))")
    assert page.run("document.getElementById('detail').hidden") is True
    said = "document.getElementById('status').textContent"
    assert page.run(said).startswith(f"The link asks for {asked}, which this page does not have; shown without. ")
    choose(page, "sm", "9.0")
    assert "The link asks" not in page.run(said)


def test_a_refusal_shows_words_sources_and_what_works(page: Browser) -> None:
    page.run("location.hash = 'kv=nvfp4&b=TRITON_ATTN&at=9.0'")
    page.run("new Promise(done => setTimeout(done, 50))")
    text = page.run("document.getElementById('detail').textContent")
    assert "kv_cache_dtype not supported" in text
    assert "backend FLASHINFER" in text
    assert "triton_attn.py:TritonAttentionBackend@" in text
    assert "kv_cache_dtype=nvfp4" in text
    page.run("[...document.querySelectorAll('#detail li a')].find(a => a.textContent === 'backend FLASHINFER').click()")
    page.run("new Promise(done => setTimeout(done, 50))")
    assert page.run("document.getElementById('detail-title').dataset.verdict") == "supported"


@pytest.mark.parametrize(
    ("sm", "said"), [("9.0", "H200 (SM 9.0)"), ("12.0", "none on SM 12.0: known by reading. Elsewhere: ")]
)
def test_evidence_is_that_of_the_sm(browser: Browser, sm: str, said: str) -> None:
    published = Path(__file__).parents[2] / "docs" / "explorer.html"
    browser.open(f"{published.as_uri()}#kv=nvfp4&b=FLASHINFER&at={sm}")
    found = browser.run(
        "[...document.querySelectorAll('#detail dt')].find(d => d.textContent === 'Evidence').nextSibling.textContent"
    )
    assert said in found
    assert ("Elsewhere" in found) is (sm != "9.0")


def test_keyboard(page: Browser) -> None:
    page.run("document.querySelector('#answers td.cell button').focus()")
    where = "[document.activeElement.dataset.b, document.activeElement.dataset.sm]"
    first = page.run(where)
    page.press("ArrowRight")
    page.press("ArrowDown")
    moved = page.run(where)
    assert moved[0] != first[0]
    assert moved[1] != first[1]
    assert page.run("document.querySelectorAll('#answers button[tabindex=\"0\"]').length") == 1
    page.press("Enter")
    assert page.run("document.getElementById('detail').hidden") is False
    assert page.run(where) == moved
    assert page.run("document.activeElement.getAttribute('aria-expanded')") == "true"
    page.press("Escape")
    assert page.run("document.getElementById('detail').hidden") is True
    assert page.run(where) == moved
    page.press("End")
    assert page.run(where)[1] == "12.1"
    page.press("Home")
    assert page.run(where)[1] == first[1]


def test_every_control_has_a_name(page: Browser) -> None:
    nodes = page.page("Accessibility.getFullAXTree")["nodes"]
    roles = {"button", "combobox", "checkbox", "searchbox", "link", "table", "columnheader", "rowheader"}
    named = [
        (n["role"]["value"], n.get("name", {}).get("value")) for n in nodes if not n.get("ignored") and "role" in n
    ]
    asked = [(role, name) for role, name in named if role in roles]
    assert len(asked) > 50
    assert [role for role, name in asked if not name] == []
    assert page.run("document.documentElement.lang") == "en"


CONTRAST = """
(() => {
  const linear = (v) => (v / 255 <= 0.03928 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4);
  const light = (c) => { const [r, g, b] = c.map(linear);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
  const parse = (text) => text.match(/[\\d.]+/g).map(Number);
  const back = (node) => { for (let n = node; n; n = n.parentElement) {
    const c = parse(getComputedStyle(n).backgroundColor);
    if (c.length === 3 || c[3] > 0) return c.slice(0, 3); } return [255, 255, 255]; };
  const low = [];
  for (const node of document.querySelectorAll('body *')) {
    const written = [...node.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim());
    if (!written || !node.getClientRects().length) continue;
    const a = light(parse(getComputedStyle(node).color).slice(0, 3)), b = light(back(node));
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < 4.5) low.push([node.tagName, node.className, node.textContent.slice(0, 30), ratio]);
  }
  return low;
})()
"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_contrast(page: Browser, scheme: str) -> None:
    page.page("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
    page.run("document.querySelector('button[data-b=FLASHINFER][data-sm=\"9.0\"]').click()")
    dark = page.run("getComputedStyle(document.body).backgroundColor") == "rgb(20, 23, 26)"
    assert dark == (scheme == "dark")
    assert page.run(CONTRAST) == []
    page.page("Emulation.setEmulatedMedia", features=[])


def test_print_leaves_the_controls_out(page: Browser) -> None:
    page.page("Emulation.setEmulatedMedia", media="print")
    assert page.run("getComputedStyle(document.getElementById('controls')).display") == "none"
    assert page.run("getComputedStyle(document.getElementById('answers')).display") == "table"
    page.page("Emulation.setEmulatedMedia", media="")


def test_two_hundred_random_cells_equal_check(page: Browser, real_grid: Grid, tmp_path: Path) -> None:
    grid, pick = real_grid, random.Random(4)
    expected: list[dict[str, Any]] = []
    configurations: list[dict[str, Any]] = []
    verdicts = set()
    for _ in range(200):
        release = pick.choice(grid.releases)
        backend = pick.choice(grid.backends(release))
        kind = grid.kind(backend)
        shape = pick.choice(SHAPES[kind.id])
        state = {
            "v": release,
            "fi": pick.choice(["pinned", *grid.flashinfer]),
            "kv": pick.choice(grid.kv_of(release)),
            "kind": kind.id,
            "head": shape.id,
            "sink": pick.choice("0001"),
            "b": backend,
            "at": pick.choice(grid.sms),
        }
        page.run(f"location.hash = new URLSearchParams({json.dumps(state)}).toString()")
        page.run("new Promise(done => setTimeout(done, 10))")
        shown = page.run(
            "({verdict: document.getElementById('detail-title').dataset.verdict,"
            " codes: [...document.querySelectorAll('#detail .reason h3 a')].map(a => a.textContent).sort(),"
            " command: document.getElementById('command').textContent})"
        )
        verdicts.add(shown["verdict"])
        configurations.append(_configuration(shown.pop("command")))
        expected.append(shown)
    batch = tmp_path / "cells.jsonl"
    batch.write_text("".join(json.dumps(c) + "\n" for c in configurations), encoding="utf-8")
    result = CliRunner().invoke(main, ["check", "--batch", str(batch), "--format", "jsonl"])
    answers = [json.loads(line) for line in result.stdout.splitlines()]
    found = [{"verdict": a["verdict"], "codes": sorted(f["code"] for f in a.get("findings", []))} for a in answers]
    assert len(found) == 200
    assert found == expected
    assert {"supported", "unsupported"} <= verdicts


def _configuration(command: str) -> dict[str, Any]:
    """Return the configuration that the page's `compatcheck check` line spells out."""
    words = shlex.split(command)
    assert words[:2] == ["compatcheck", "check"]
    values: dict[str, Any] = {}
    index = 2
    while index < len(words):
        option = words[index].removeprefix("--")
        given = index + 1 < len(words) and not words[index + 1].startswith("--")
        name = option.removeprefix("no-") if option.startswith("no-") else option
        value: Any = not option.startswith("no-")
        if given:
            value = words[index + 1]
            if re.fullmatch(r"\d+", value):
                value = int(value)
            elif "," in value:
                value = [int(part) for part in value.split(",")]
        values[name.replace("-", "_")] = value
        index += 2 if given else 1
    return values
