"""In which order cells are run: what is least known and cheapest first, modules that take minutes to build last."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from compatcheck.smoke.cell import SmokeCell


def ordered(cells: Sequence[SmokeCell], dear: Callable[[SmokeCell], bool]) -> list[SmokeCell]:
    """Return cells by rank, each rank in declaration order.

    `dear` says whether a cell needs a module that takes minutes to build. Ranks: absence, NVFP4 and advisories;
    refusals; one configuration of each kernel; the rest. Then the same again for the cells with dear modules.
    """
    lead: dict[str, str] = {}
    for cell in cells:
        if cell.expected.kind == "supported":
            lead.setdefault(cell.kernel, cell.family)
    keyed = [((int(dear(cell)), _rank(cell, lead.get(cell.kernel)), index), cell) for index, cell in enumerate(cells)]
    keyed.sort(key=lambda item: item[0])
    return [cell for _, cell in keyed]


def _rank(cell: SmokeCell, lead: str | None) -> int:
    if cell.expected.kind in ("absent", "wrong", "varies"):
        return 0
    if cell.expected.kind in ("refused", "compile-error"):
        return 1
    if cell.kv_dtype == "nvfp4":
        return 0 if cell.family == lead or cell.shape == "whole" or cell.head_size in (64, 128) else 2
    return 2 if cell.family == lead else 3
