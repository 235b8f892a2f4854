"""Several partial runs of one place, as one document."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import msgspec

from compatcheck.smoke.coverage import Coverage
from compatcheck.smoke.evidence import CellEvidence, Evidence, EvidenceError


def merge(parts: Sequence[Evidence]) -> Evidence:
    """Return the union of runs.

    A cell seen in several keeps the later run's record, except that a record that proves nothing (unavailable,
    unproven) never replaces one that does.

    Raises `EvidenceError` where the parts differ in GPU, SM, driver, CUDA, torch or FlashInfer. Another matrix is
    allowed, since a mended fact changes its digest; the last one is kept.
    """
    if not parts:
        raise EvidenceError("nothing to merge")
    first = parts[0].fingerprint.identity()
    for number, part in enumerate(parts[1:], start=2):
        other = part.fingerprint.identity()
        differ = [n for n in first if n not in ("matrix", "python") and first[n] != other[n]]
        if differ:
            raise EvidenceError(
                f"file {number} was made elsewhere: "
                + ", ".join(f"{n} is {other[n]}, in the first file {first[n]}" for n in differ)
            )
    runs = tuple(run for part in parts for run in part.runs)
    cells: dict[str, CellEvidence] = {}
    offset = 0
    for part in parts:
        for cell in part.cells:
            kept = cells.get(cell.id)
            moved = msgspec.structs.replace(cell, run=cell.run + offset)
            if kept is None or moved.judgement != "unproven" or kept.judgement == "unproven":
                cells[cell.id] = moved
        offset += len(part.runs)
    ordered = tuple(cells[id_] for id_ in sorted(cells))
    left_out = {k: v for part in parts for k, v in part.left_out.items()}
    return Evidence(
        schema=1,
        fingerprint=parts[-1].fingerprint,
        runs=runs,
        coverage=_coverage(parts, ordered),
        cells=ordered,
        left_out=dict(sorted(left_out.items())),
    )


def _coverage(parts: Sequence[Evidence], cells: Sequence[CellEvidence]) -> Coverage:
    # Runs with the newest matrix know how many cells it declares; one that was given --only or --shard knows of fewer.
    newest = parts[-1].fingerprint.matrix
    declared = max(*(p.coverage.declared for p in parts if p.fingerprint.matrix == newest), len(cells))
    unavailable = Counter(
        c.missing or "unknown" for c in cells if c.outcome == "unavailable" and c.judgement != "confirmed"
    )
    counts = Counter(c.judgement for c in cells if c.outcome != "unavailable" or c.judgement == "confirmed")
    return Coverage(
        declared=declared,
        run=len(cells),
        confirmed=counts["confirmed"],
        refused_as_declared=sum(
            c.judgement == "confirmed" and c.expected in ("refused", "compile-error") for c in cells
        ),
        contradicted=counts["contradicted"],
        unproven=counts["unproven"],
        unavailable=dict(unavailable),
        not_run=declared - len(cells),
    )
