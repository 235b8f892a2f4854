"""Outcomes of a run, judged by the packaged matrix without running anything."""

from __future__ import annotations

from pathlib import Path

from compatcheck.matrix.load import load
from compatcheck.smoke.cells import Target, plan
from compatcheck.smoke.command import evidence_judge
from compatcheck.smoke.coverage import Coverage
from compatcheck.smoke.evidence import CellEvidence, Evidence, Run, read_evidence, write_evidence
from compatcheck.smoke.fingerprint import Fingerprint
from compatcheck.smoke.kernels import KERNELS


def test_other_facts_give_another_judgement(tmp_path: Path) -> None:
    matrix = load()
    cells = plan(matrix.matrix, Target("9.0", "0.7.2.post1", "2.11.0", "13.0"), KERNELS).cells
    refused = next(c for c in cells if c.expected.code == "fa2-fp8-query")
    words = "fp8 tensor core is not supported in fa2 backend"
    seen = (
        CellEvidence(
            id=refused.id,
            expected="supported",
            outcome="refused",
            judgement="contradicted",
            exception="AssertionError",
            text=words,
        ),
        CellEvidence(id="gone/sm9.0", expected="supported", outcome="correct", judgement="confirmed"),
    )
    place = Fingerprint(
        sm="9.0", flashinfer="0.7.2.post1", torch="2.11.0+cu130", torch_cuda="13.0", tool="0", matrix="old"
    )
    before = Evidence(
        schema=1,
        fingerprint=place,
        runs=(Run(date="2026-11-29", level="correct"),),
        coverage=Coverage(declared=2),
        cells=seen,
    )
    write_evidence(tmp_path / "a.json", before)
    assert evidence_judge(tmp_path / "a.json", tmp_path / "b.json") == 0
    after = read_evidence(tmp_path / "b.json")
    assert after.fingerprint.matrix == matrix.digest
    (cell,) = after.cells
    assert (cell.judgement, cell.expected, cell.code) == ("confirmed", "refused", "fa2-fp8-query")
    assert after.coverage.declared > 700
    assert after.coverage.run == 1


def test_an_unreadable_file_is_exit_2(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text("{")
    assert evidence_judge(tmp_path / "a.json", tmp_path / "b.json") == 2
