"""Rows of the tables about linear layers: answers by SM and release, merged where nothing differs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from compatcheck.docs.linear_asks import BATCH_INVARIANT, ENGINE, Ask
from compatcheck.docs.linear_grid import LinearGrid
from compatcheck.docs.linear_sheets import LinearCell
from compatcheck.docs.linear_states import said_of
from compatcheck.docs.states import Said
from compatcheck.matrix.versions import parse
from compatcheck.resolve.backend import of_release
from compatcheck.resolve.describe import describe_condition

OTHERWISE = "otherwise"


class Pick(NamedTuple):
    """The kernel that is taken, how it computes, and what is said of that."""

    kernel: str | None
    compute: str | None
    said: Said


def pick(grid: LinearGrid, cell: LinearCell, ask: Ask) -> Pick:
    """Return what a cell says, for a table."""
    return Pick(cell.selected, cell.compute, said_of(grid, cell, ask))


def picks(grid: LinearGrid, release: str, scheme: str, id_: str, fi: str | None = None) -> list[Pick]:
    """Return what a way to ask gives on each column of SMs."""
    ask = grid.ask(release, id_)
    return [pick(grid, grid.cell(release, scheme, ask, sms[0], fi), ask) for sms in grid.columns]


def runs(values: Sequence[str], answer: Callable[[str], Any]) -> list[dict[str, Any]]:
    """Return, newest first, runs of values that follow one another with the same answer: `values` and `answer`."""
    rows: list[dict[str, Any]] = []
    for value in reversed(values):
        said = answer(value)
        if rows and rows[-1]["answer"] == said:
            rows[-1]["values"].insert(0, value)
        else:
            rows.append({"values": [value], "answer": said})
    return rows


def orders(grid: LinearGrid, release: str) -> list[tuple[str, list[str]]]:
    """Return a release's orders: the condition of each, and the kernels that the release has."""
    program = grid.program(release)
    at = parse(release)
    lists = [entry for entry in grid.linear.orders if parse(entry.since) <= at]
    found = []
    for case in of_release(max(lists, key=lambda entry: parse(entry.since)).cases, release) if lists else []:
        when = describe_condition(case.when) if case.when else OTHERWISE
        found.append((when, [name for name in case.order if name in program.kernels]))
        if when == OTHERWISE:
            break  # nothing after a line without a condition is ever read
    return found


def changes(grid: LinearGrid, old: str, new: str) -> list[dict[str, Any]]:
    """Return what `new` picks where it is not what `old` picked, each with its own FlashInfer."""
    lines: list[dict[str, Any]] = []
    for scheme in grid.schemes:
        for id_ in (ENGINE, BATCH_INVARIANT):
            moved: dict[tuple[Pick, Pick], list[str]] = {}
            for was, now, sms in zip(
                picks(grid, old, scheme, id_), picks(grid, new, scheme, id_), grid.columns, strict=True
            ):
                if was != now:
                    moved.setdefault((was, now), []).extend(sms)
            lines += [
                {"scheme": scheme, "ask": id_, "was": was, "now": now, "sms": sms} for (was, now), sms in moved.items()
            ]
    return lines
