"""The diff that a contradiction prints: `git apply` takes it, lint passes, and the matrix then agrees."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from fnmatch import fnmatchcase
from pathlib import Path

import msgspec
import pytest

from compatcheck.smoke.command import evidence_judge
from compatcheck.smoke.evidence import CellEvidence, read_evidence, write_evidence
from tests.smoke.conftest import ROOT

EVIDENCE = ROOT / "docs" / "evidence" / "h200-flashinfer-0.7.2.post1.json"


def right(cell: CellEvidence) -> CellEvidence:
    return msgspec.structs.replace(
        cell, outcome="correct", level="correct", errors={"out": 0.001}, tolerance=0.03, exception=None, text=None
    )


def wrong(cell: CellEvidence) -> CellEvidence:
    return msgspec.structs.replace(cell, outcome="wrong", level="launch", errors={"out": 0.4})


def refused(cell: CellEvidence) -> CellEvidence:
    return msgspec.structs.replace(
        cell,
        outcome="refused",
        exception="TypeError",
        bases=("Exception",),
        text='no "head" {here}: 7, sorry',
        errors={},
    )


CHANGES: list[tuple[str, Callable[[CellEvidence], CellEvidence]]] = [
    # a refusal gone, one in other words, a cell that is refused, one that is wrong, an advisory that is mended
    ("flashinfer.nvfp4_append.csr/*/refuses=fi-nvfp4-csr-head/*", right),
    ("flashinfer.nvfp4_append.slot_mapping/*/refuses=fi-nvfp4-append-head/*", refused),
    ("flashinfer.mla.fa2/*/kv=bf16/*/g16/ragged", refused),
    ("flashinfer.cudnn.prefill/*/kv=bf16/*", wrong),
    ("flashinfer.nvfp4_quantize*/*", right),
]


def test_the_patch_applies_and_the_matrix_agrees(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.copy(ROOT / "matrix.yaml", tmp_path)
    shutil.copytree(ROOT / "matrix", tmp_path / "matrix")
    matrix, seen = tmp_path / "matrix.yaml", tmp_path / "seen.json"
    before = read_evidence(EVIDENCE)
    cells = before.cells
    for pattern, change in CHANGES:
        changed = tuple(change(c) if fnmatchcase(c.id, pattern) else c for c in cells)
        assert changed != cells, pattern
        cells = changed
    write_evidence(seen, msgspec.structs.replace(before, cells=cells))
    assert evidence_judge(seen, tmp_path / "judged.json", matrix) == 1
    said = capsys.readouterr().out
    assert "compatcheck lint finds no problem in the result" in said
    assert "needs a person" not in said
    (tmp_path / "p.diff").write_text(said)
    subprocess.run(["git", "init", "-q", "."], cwd=tmp_path, check=True)
    subprocess.run(["git", "apply", "p.diff"], cwd=tmp_path, check=True)
    assert evidence_judge(seen, tmp_path / "judged.json", matrix) == 0, capsys.readouterr().out
