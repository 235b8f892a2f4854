"""What a verdict says, as a cell."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compatcheck.docs.reasons import without_values
from compatcheck.docs.sheets import Cell

if TYPE_CHECKING:
    from compatcheck.docs.reasons import Reasons
    from compatcheck.resolve.backend import BackendProgram
    from compatcheck.resolve.configuration import Configuration
    from compatcheck.resolve.verdict import Verdict


def cell_of(verdict: Verdict, reasons: Reasons, program: BackendProgram, facts: Configuration) -> Cell:
    """Return what a verdict for some facts says; `program` is that of their backend."""
    return Cell(
        verdict.verdict,
        verdict.engine_accepts,
        verdict.route.id if verdict.route else None,
        verdict.fails_at,
        tuple([reasons.number(finding, program, facts) for finding in verdict.findings]),
        verdict.missing,
        without_values(verdict.untested),
    )
