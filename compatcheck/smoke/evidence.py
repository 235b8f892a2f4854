"""The evidence of a run: fingerprint, every cell, its outcome and judgement. Immutable once written."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal

import msgspec

from compatcheck.atomic import write_atomically
from compatcheck.smoke.coverage import Coverage
from compatcheck.smoke.fingerprint import Fingerprint
from compatcheck.smoke.outcome import Judged, Judgement, Outcome


class EvidenceError(ValueError):
    """An evidence file that cannot be used, with the place and what to do."""


class CellEvidence(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One cell of a run: what the matrix said, what the GPU did."""

    id: str
    expected: str
    code: str | None = None
    outcome: Outcome
    judgement: Judgement
    why: str = ""
    level: str | None = None
    errors: dict[str, float] = {}
    tolerance: float | None = None
    bounds: dict[str, float] = {}
    exception: str | None = None
    bases: tuple[str, ...] = ()
    text: str | None = None
    missing: str | None = None
    missing_what: str | None = None
    stage: str | None = None
    notes: dict[str, Any] = {}
    timings: dict[str, float] = {}
    reruns: int = 0
    run: int = 0
    """Index into `runs` of the document: which run saw it (merged evidence has several)."""


class Run(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One run: when (UTC date), how far, how long. Seconds; `compile_s` is the sum over modules."""

    date: str
    level: str
    wall_s: float | None = None
    compile_s: float | None = None
    modules: int | None = None
    cells: int = 0
    workers: int | None = None
    complete: bool = True


class Evidence(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The document."""

    document: Literal["compatcheck-evidence"] = "compatcheck-evidence"
    schema: Literal[1]
    fingerprint: Fingerprint
    runs: tuple[Run, ...]
    coverage: Coverage
    cells: tuple[CellEvidence, ...]
    left_out: dict[str, str] = {}
    """Kernels without a cell, and why."""

    def by_id(self) -> dict[str, CellEvidence]:
        """Return the cells by id."""
        return {cell.id: cell for cell in self.cells}

    def counts(self) -> Counter[str]:
        """Return how many cells have each judgement."""
        return Counter(cell.judgement for cell in self.cells)


def cell_evidence(judged: Judged, run: int = 0) -> CellEvidence:
    """Return the lasting form of a judged result."""
    result, expected = judged.result, judged.expected
    return CellEvidence(
        id=result.id,
        expected=expected.kind,
        code=expected.code,
        outcome=result.outcome,
        judgement=judged.judgement,
        why=judged.why,
        level=result.level,
        errors=result.errors,
        tolerance=result.tolerance,
        bounds=result.bounds,
        exception=result.exception,
        bases=result.bases,
        text=result.text,
        missing=result.missing,
        missing_what=result.missing_what,
        stage=result.stage,
        notes=result.notes,
        timings=result.timings,
        reruns=result.reruns,
        run=run,
    )


def make_evidence(
    fingerprint: Fingerprint,
    runs: tuple[Run, ...],
    judged: Iterable[Judged],
    coverage: Coverage,
    left_out: dict[str, str],
) -> Evidence:
    """Return the document, cells sorted by id."""
    cells = tuple(sorted((cell_evidence(j) for j in judged), key=lambda c: c.id))
    return Evidence(
        schema=1,
        fingerprint=fingerprint,
        runs=runs,
        coverage=coverage,
        cells=cells,
        left_out=dict(sorted(left_out.items())),
    )


def write_evidence(path: Path, evidence: Evidence) -> None:
    """Write atomically: readers see the old file or the new one, never half of it. Raises OSError."""
    write_atomically(path, msgspec.json.format(msgspec.json.encode(evidence), indent=1) + b"\n", parents=True)


def read_evidence(path: Path) -> Evidence:
    """Read an evidence file; raises `EvidenceError` with the place where it is unreadable or cut off."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise EvidenceError(f"{path}: cannot be read: {error.strerror}") from error
    if not data.strip():
        raise EvidenceError(f"{path}:1: the file is empty")
    try:
        found = msgspec.json.decode(data, type=Evidence)
    except msgspec.ValidationError as error:
        raise EvidenceError(f"{path}: not an evidence file of schema 1: {error}") from error
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        line = data.count(b"\n") + 1
        if "truncated" in str(error):
            raise EvidenceError(f"{path}:{line}: the file is cut off at its end; write it again") from error
        raise EvidenceError(f"{path}: not JSON: {error}") from error
    _consistent(path, found)
    return found


def _consistent(path: Path, found: Evidence) -> None:
    twice = [id_ for id_, count in Counter(cell.id for cell in found.cells).items() if count > 1]
    if twice:
        raise EvidenceError(f"{path}: cell {twice[0]} stands in it more than once; write it again")
    for cell in found.cells:
        if not 0 <= cell.run < len(found.runs):
            raise EvidenceError(f"{path}: cell {cell.id} is of run {cell.run}, and there are {len(found.runs)} runs")
