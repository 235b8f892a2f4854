"""What a GPU did, judged by the matrix as it is now: a mended fact needs no second run."""

from __future__ import annotations

import msgspec

from compatcheck.matrix.load import LoadedMatrix
from compatcheck.matrix.versions import InvalidVersion, public
from compatcheck.smoke.cell import SmokeCell
from compatcheck.smoke.cells import Target, plan
from compatcheck.smoke.classify import classify
from compatcheck.smoke.coverage import coverage
from compatcheck.smoke.evidence import CellEvidence, Evidence, cell_evidence
from compatcheck.smoke.judge import borne_out, judge_all
from compatcheck.smoke.outcome import Judged, Result
from compatcheck.smoke.routes import route_cells


def rejudge(evidence: Evidence, matrix: LoadedMatrix) -> tuple[Evidence, list[SmokeCell], list[Judged]]:
    """Return the evidence with expectations and judgements of a matrix, its cells, and the judged results.

    Outcomes stay what they were, with two exceptions: an exception is classified anew, since declared words decide
    there, and what was right by a bound that the matrix has tightened since, with an error above the new one, is wrong.
    A bound that was loosened changes nothing: what was not seen to be right is not made right. Cells that the matrix
    declares no longer are dropped.
    """
    from compatcheck.smoke.kernels import KERNELS

    at = evidence.fingerprint
    target = Target(at.sm, _public(at.flashinfer), _public(at.torch), at.torch_cuda)
    planned = plan(matrix.matrix, target, KERNELS)
    cells = planned.cells + route_cells(matrix.matrix, target, KERNELS)
    seen = {cell.id: cell for cell in evidence.cells}
    results = {cell.id: _result(seen[cell.id], cell) for cell in cells if cell.id in seen}
    judged = judge_all(cells, results)
    document = msgspec.structs.replace(
        evidence,
        fingerprint=msgspec.structs.replace(at, matrix=matrix.digest),
        coverage=coverage(len(cells), judged),
        cells=tuple(sorted((cell_evidence(j, seen[j.result.id].run) for j in judged), key=lambda c: c.id)),
        left_out=dict(sorted(planned.left_out.items())),
    )
    return document, cells, judged


def _result(kept: CellEvidence, cell: SmokeCell) -> Result:
    outcome, missing, what = kept.outcome, kept.missing, kept.missing_what
    if kept.exception and outcome not in ("crashed", "timeout"):
        outcome, missing, what = classify(kept.exception, kept.bases, kept.text or "", cell.expected)
    level, tolerance = kept.level, kept.tolerance
    if tolerance is not None and cell.tolerance < tolerance:
        tolerance = cell.tolerance
    if tolerance is not None or not kept.errors:
        outcome, level = borne_out(outcome, level, kept.errors, kept.bounds, tolerance or 0.0)
    return Result(
        id=kept.id,
        outcome=outcome,
        level=level,
        exception=kept.exception,
        bases=kept.bases,
        text=kept.text,
        missing=missing,
        missing_what=what,
        stage=kept.stage,
        errors=kept.errors,
        tolerance=tolerance,
        bounds=kept.bounds,
        notes=kept.notes,
        timings=kept.timings,
        reruns=kept.reruns,
    )


def _public(version: str | None) -> str | None:
    try:
        return public(version) if version else None
    except InvalidVersion:
        return None
