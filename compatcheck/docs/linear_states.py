"""The states of linear cells: those of attention, and one more for a request that another kernel answers."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from compatcheck.docs import states
from compatcheck.docs.states import Said

if TYPE_CHECKING:
    from compatcheck.docs.linear_asks import Ask
    from compatcheck.docs.linear_grid import LinearGrid
    from compatcheck.docs.linear_sheets import LinearCell

OTHER = "other"
"""The kernel was asked for, and the release takes another one without an error."""

MARKS = {**states.MARKS, OTHER: "other"}
"""How a state is written in a table."""

_TAIL = re.compile(r"NvFp4|LinearKernel$")


def short(kernel: str) -> str:
    """Return a kernel class's name without what all of them share: MarlinNvFp4LinearKernel -> Marlin."""
    return _TAIL.sub("", kernel) or kernel


def said_of(grid: LinearGrid, cell: LinearCell, ask: Ask) -> Said:
    """Return the state of a cell and the codes behind it, the most telling first."""
    reasons = [grid.reasons.items[number] for number in cell.reasons]
    if cell.selected is None:
        if cell.missing:
            return Said("unknown", (), ", ".join(cell.missing))
        gates = [tried.code for tried in cell.tried if tried.code and ask.kernel in (None, tried.kernel)]
        codes = [r.code for r in reasons if r.effect == "unsupported"]
        return Said("refused", tuple(dict.fromkeys([*(gates if ask.kernel else []), *codes])))
    if ask.kernel is not None and cell.selected != ask.kernel:
        codes = [r.code for r in reasons if r.code.startswith("linear-backend-")]
        return Said(OTHER, tuple(codes or [r.code for r in reasons]))
    if cell.verdict == "supported":
        return Said("runs")
    if cell.verdict == "degraded":
        return Said("degraded", tuple(dict.fromkeys(r.code for r in reasons if r.effect == "degraded")))
    if cell.verdict == "unknown":
        return Said("unknown", (), cell.untested or ", ".join(cell.missing))
    return Said("fails", tuple(dict.fromkeys(r.code for r in reasons if r.effect == "unsupported")))
