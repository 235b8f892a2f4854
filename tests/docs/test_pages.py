"""The pages never lie in the ways that hand-made and scraped tables do."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from compatcheck.docs.pages import makers
from compatcheck.docs.render import render_all
from compatcheck.docs.site import Site
from compatcheck.matrix.load import LoadedMatrix

LINK = re.compile(r"\[[^\]]*\]\(([^)#\s]+)(?:#[^)]*)?\)")
HAND_WRITTEN = {"contributing.md", "templates.md"}


def test_same_matrix_same_bytes(small: LoadedMatrix, small_files: dict[str, str], tmp_path: Path) -> None:
    assert render_all(small, tmp_path) == small_files


def test_every_link_leads_to_a_page(small_files: dict[str, str]) -> None:
    for name, text in small_files.items():
        for target in LINK.findall(text):
            if target.startswith("http"):
                continue
            path = os.path.normpath(Path(name).parent / target)
            assert path in small_files or path in HAND_WRITTEN, f"{name} links to {target}"


def test_every_link_to_a_heading_leads_to_one(small_files: dict[str, str]) -> None:
    headings = {
        name: {re.sub(r"[^\w -]", "", line.lstrip("# ").lower()).replace(" ", "-") for line in text.splitlines()}
        for name, text in small_files.items()
    }
    led = 0
    for name, text in small_files.items():
        for target, heading in re.findall(r"\]\(([^)#\s]*\.md)#([^)]*)\)", text):
            path = os.path.normpath(Path(name).parent / target)
            assert heading in headings[path], f"{name} links to {target}#{heading}"
            led += 1
    assert led >= 10


@pytest.mark.parametrize("name", ["attention-backends.md", "kv-dtypes.md"])
def test_every_refusal_of_an_overview_leads_to_its_reason(name: str, small_files: dict[str, str]) -> None:
    cells = [cell.strip() for line in small_files[name].splitlines() for cell in line.split("|")]
    assert not {"no", "fails", "degraded", "?"} & set(cells)
    assert sum(cell.startswith("[no](attention-backends/sm-") for cell in cells) > 2


def test_every_family_has_rows(small_files: dict[str, str]) -> None:
    for family in ("9.x", "11.x", "12.x"):
        assert f"attention-backends/sm-{family}.md" in small_files
    overview = small_files["attention-backends.md"]
    no = "[no](attention-backends/sm-11.x.md#standard-attention-on-sm-11x)"
    assert f"| `FLASHINFER` | FlashInfer | yes | {no} | yes | 0.32.0 |" in overview
    header = next(line for line in overview.splitlines() if line.startswith("| Backend"))
    assert header == "| Backend | What | 9.0 | 11.0 | 12.0 | Since |"


def test_no_permissive_default_is_printed(small_files: dict[str, str]) -> None:
    cells = [
        cell.strip().lower()
        for name, text in small_files.items()
        if name.endswith(".md")
        for line in text.splitlines()
        if line.startswith("| ")
        for cell in line.split("|")
    ]
    assert "any" not in cells
    assert "all" not in cells
    kernels = small_files["kernels.md"]
    assert "| Page sizes | - |" in kernels


def test_nvfp4_only_where_it_runs(small_files: dict[str, str]) -> None:
    page = small_files["nvfp4.md"]
    row = next(line for line in page.splitlines() if line.startswith("| 0.33.0 |"))
    nine, eleven, twelve = (cell.strip() for cell in row.split("|")[2:5])
    assert nine == "slot mapping: yes"
    assert eleven.startswith("[no](rules/")
    assert twelve == "slot mapping: yes"
    old = next(line for line in page.splitlines() if line.startswith("| 0.32.0 |"))
    assert "slot mapping: [fails](rules/old-library.md)" in old


def test_states_between_yes_and_no_are_visible(small_files: dict[str, str]) -> None:
    nine = small_files["attention-backends/sm-9.x.md"]
    assert "`nvfp4`: 64 ([wrong-output-head-64](../rules/wrong-output-head-64.md))" in nine
    assert "`fp8`: 64, 128" in nine
    assert "does not state that flashinfer.fa2.paged runs with" in nine
    assert "by reading" in nine


def test_a_refusal_is_one_link_away(small_files: dict[str, str]) -> None:
    page = small_files["rules/fa2-head-64-sm12.md"]
    assert "/head_dim 64 | not here/" in page
    assert "| Exception | `RuntimeError` |" in page
    assert "fa2-head-64-sm12.md" in small_files["attention-backends/sm-12.x.md"]


def test_rule_page_has_everything(small_files: dict[str, str]) -> None:
    page = small_files["rules/wrong-output-head-64.md"]
    for part in ("## Why", "## Fix", "## History", "## Recheck", "## Sources", "| Confirmed by | run |"):
        assert part in page
    assert "flashinfer \\>= 0.8" in page
    assert "<https://example.org/issue/1> (thread): an \\[H100\\] run" in page


def test_markup_in_facts_stays_text(small_files: dict[str, str]) -> None:
    page = small_files["rules/wrong-output-head-64.md"]
    assert "<script>" not in page
    assert "\\<script\\>" in page
    assert "FP8 \\<b\\>\\*bold\\*\\</b\\> \\| piped" in small_files["kv-dtypes.md"]


def test_alternatives_of_one_subject_are_named(small_files: dict[str, str]) -> None:
    page = small_files["rules/old-library.md"]
    assert "[new-library](new-library.md)" in page
    assert "`FlashInfer <0.6.15.dev0`" in page


def test_capacity_counts_scales(small_files: dict[str, str]) -> None:
    assert "| `nvfp4` | NVFP4 | uint8 | 9/2 | - | 3.56 |" in small_files["kv-dtypes.md"]
    assert re.search(r"\| `nvfp4_ds_mla` \|[^|]*\| - \| - \| - \| - \|", small_files["kv-dtypes.md"])


def test_changes_name_what_changed(small_files: dict[str, str]) -> None:
    page = small_files["changes/0.33.0.md"]
    assert "| FlashInfer | 0.6.14 | 0.7.0 |" in page
    assert "Newly accepted: `nvfp4_ds_mla`." in page
    assert "- new: `SPARSE_MLA`" in page
    assert "from here on: [mla-nvfp4](../rules/mla-nvfp4.md)" in page
    assert re.search(r"\| `FLASHINFER` \| fails \| (yes|degraded) \| `nvfp4` \|", page)


def row(page: str, start: str) -> list[str]:
    line = next(line for line in page.splitlines() if line.startswith(start))
    return [cell.strip() for cell in re.split(r"(?<!\\\\)\|", line)[1:-1]]


def test_linear_page_shows_every_state_and_leads_to_the_reason(small_files: dict[str, str]) -> None:
    page = small_files["nvfp4-linear.md"]
    assert "| vLLM | 9.0 | 11.0 | 12.0 |" in page
    unstated = "? (the matrix does not state that flashinfer.gemm.fast runs with this sm)"
    assert row(page, "| 0.33.0 | `Late`") == [
        "0.33.0",
        "`Late` weight-only: [degraded](rules/linear-slow.md)",
        f"`Fast` native: {unstated}",
        "`Fast` native: yes",
    ]
    assert row(page, "| 0.32.0 | `Plain`")[3] == "`Fast` native: [fails](rules/kernel-not-in-library.md)"
    asked = row(page, "| `Fast` | `--linear-backend fast`")
    assert asked[1:3] == [
        "`--linear-backend fast` with `VLLM_DISABLED_KERNELS=LateNvFp4LinearKernel`",
        "[no](rules/gate-fast-sm.md)",
    ]
    assert "| 3700 is" not in page
    assert "`Late`: [unsupported](rules/linear-k-16.md)" in page
    assert "- 0.33.0, where sm 9.x: `Late` ahead of `Plain`" in page
    assert "| `plain` | 0.32.0 to before 0.33.0 | `Plain` |" in page
    assert "untested: no live run, by reading" in page
    assert "No live run yet" in page
    assert "pads \\*nothing\\* \\[yet\\]" in page


def test_a_gate_has_a_page(small_files: dict[str, str]) -> None:
    page = small_files["rules/gate-fast-sm.md"]
    assert "needs <FP4> | SM 11 or 12" in page
    assert "| Kernels | `FastNvFp4LinearKernel` |" in page
    assert "## Gates of linear kernels" in small_files["rules/index.md"]
    assert "nothing left: {reasons}" in small_files["rules/no-linear-kernel.md"]


def test_changes_name_what_changed_for_linear_layers(small_files: dict[str, str]) -> None:
    page = small_files["changes/0.33.0.md"]
    for line in (
        "- new kernel: `LateNvFp4LinearKernel`",
        "- new value: `--linear-backend fast`",
        "- `VLLM_NVFP4_GEMM_BACKEND` is no longer read",
        "- order, where sm 9.x: `Fast`, `Late`, `Plain`",
    ):
        assert line in page.splitlines()
    assert "--linear-backend others" not in page
    assert row(page, "| `nvfp4_w4a16` | nothing | 9.0")[3:] == ["`Plain` weight-only, yes", "`Late` weight-only, yes"]


def test_selection_says_what_is_picked(small_files: dict[str, str]) -> None:
    page = small_files["selection.md"]
    assert "| otherwise | `FLASHINFER`, `PLAIN` |" in page
    assert "| 11.0 | `PLAIN` |" in page


def test_no_machine_words(small_files: dict[str, str]) -> None:
    for text in small_files.values():
        assert "/work/" not in text
        assert "/home/" not in text


def test_markdownlint(small_files: dict[str, str], tmp_path: Path) -> None:
    program = shutil.which("markdownlint-cli2") or os.environ.get("MARKDOWNLINT_CLI2")
    if not program:
        pytest.skip("markdownlint-cli2 is not installed: npm install markdownlint-cli2, and put it on PATH")
    for name, text in small_files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    run = subprocess.run([program, "**/*.md"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr


def test_what_templates_may_use_is_documented(small: LoadedMatrix, tmp_path: Path) -> None:
    text = (Path(__file__).parents[2] / "docs" / "templates.md").read_text("utf-8")
    told = {
        name: set(re.findall(r"`(\w+)", part))
        for name, part in re.findall(r"- `([\w.-]+\.j2)`:(.*?)(?=\n- |\n## )", text, re.S)
    }
    site = Site(small, tmp_path)
    used: dict[str, set[str]] = {}
    for make in makers(site).values():
        for page in make(site):
            used.setdefault(page.template, set()).update(page.variables)
    assert {name: variables - told[name] for name, variables in used.items() if variables - told[name]} == {}


@pytest.mark.parametrize(
    ("page", "open_"), [("nvfp4.md", re.compile(r": \?(.*?) \|")), ("selection.md", re.compile(r"\| unknown(.*?) \|"))]
)
def test_what_is_not_known_says_what_is_lacking(page: str, open_: re.Pattern[str]) -> None:
    text = (Path(__file__).parents[2] / "docs" / page).read_text("utf-8")
    found = open_.findall(text)
    assert found
    assert all(" (the matrix does not state" in said for said in found)
