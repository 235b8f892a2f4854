"""Each lint rule finds its planted fault, at its place; the sample without faults and the packaged matrix are clean."""

from __future__ import annotations

from pathlib import Path

import pytest

from compatcheck.matrix.lint import lint_files
from compatcheck.matrix.lint.registry import RULES

from ..samples import SMALL, lint_text, place_of, planted
from . import faults, linear_faults

FAULTS = faults.FAULTS | linear_faults.FAULTS


def test_sample_is_clean(tmp_path: Path) -> None:
    assert lint_text(tmp_path, SMALL) == []


@pytest.mark.parametrize("name", FAULTS)
def test_fault_is_found_at_its_place(name: str, tmp_path: Path) -> None:
    fault = FAULTS[name]
    text = planted(fault.old, fault.new)
    problems = lint_text(tmp_path, text)
    mine = [p for p in problems if p.code == fault.code]
    assert mine, problems
    assert [(p.line, p.column) for p in mine] == [place_of(text, fault.at)]
    assert mine[0].severity == fault.severity
    assert mine[0].file == str(tmp_path / "matrix.yaml")
    for said in fault.says:
        assert said in mine[0].message


def test_every_rule_has_a_fault() -> None:
    codes = {fault.code for fault in FAULTS.values()} | {"structure", "subject"}
    assert {rule.code for rule in RULES} <= codes


def test_all_errors_at_once(tmp_path: Path) -> None:
    text = planted("refuser: package", "refuser: pakage").replace("extends: FLASH_ATTN", "extends: NOTHING")
    text = text.replace("backend: FLASH_ATTN}, route", "backedn: FLASH_ATTN}, route").replace(
        "title: vLLM", "titel: vLLM"
    )
    codes = {p.code for p in lint_text(tmp_path, text)}
    assert codes >= {"wrong-value", "reference", "condition", "unknown-key", "missing-key"}


def test_duplicate_key_does_not_hide_the_rest(tmp_path: Path) -> None:
    text = planted("    fix: Upgrade.", "    fix: U.\n    fix: V.").replace("extends: FLASH_ATTN", "extends: NOTHING")
    assert [p.code for p in lint_text(tmp_path, text)] == ["reference", "duplicate-key"]


def test_problems_are_in_the_order_of_the_file(tmp_path: Path) -> None:
    text = planted("family: 9.x", "family: 7.x").replace("extends: FLASH_ATTN", "extends: NOTHING")
    text = text.replace("why: They are there.", "why: see wiki.corp")
    places = [(p.line, p.column) for p in lint_text(tmp_path, text)]
    assert len(places) == 3
    assert places == sorted(places)


def test_packaged_matrix_is_clean() -> None:
    assert [str(p) for p in lint_files([]) if p.severity == "error"] == []
