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
from compatcheck.smoke.rejudge import rejudge


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


def test_a_tightened_bound_counts_and_a_loosened_one_does_not() -> None:
    matrix = load()
    cells = plan(matrix.matrix, Target("9.0", "0.7.2.post1", "2.11.0", "13.0"), KERNELS).cells
    cell = next(c for c in cells if c.expected.kind == "supported" and c.tolerance == 0.02)
    place = Fingerprint(sm="9.0", flashinfer="0.7.2.post1", torch="2.11.0", torch_cuda="13.0", tool="0", matrix="old")

    def after(outcome: str, error: float, bound: float) -> CellEvidence:
        seen = CellEvidence(
            id=cell.id,
            expected="supported",
            outcome=outcome,  # type: ignore[arg-type]
            judgement="confirmed",
            level="graph",
            errors={"out": error, "graph.out": 0.0},
            tolerance=bound,
        )
        evidence = Evidence(schema=1, fingerprint=place, runs=(), coverage=Coverage(declared=1), cells=(seen,))
        (judged,) = rejudge(evidence, matrix)[0].cells
        return judged

    tightened = after("correct", 0.1, 0.15)
    assert (tightened.outcome, tightened.judgement, tightened.level) == ("wrong", "contradicted", "launch")
    assert tightened.tolerance == 0.02
    kept = after("correct", 0.019, 0.15)
    assert (kept.outcome, kept.judgement, kept.level) == ("correct", "confirmed", "graph")
    loosened = after("wrong", 0.015, 0.01)
    assert (loosened.outcome, loosened.judgement, loosened.tolerance) == ("wrong", "contradicted", 0.01)
