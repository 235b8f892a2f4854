"""The states of a cell, between yes and no, and runs of cells in the same state."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import msgspec

from compatcheck.docs.axes import SHAPES
from compatcheck.resolve.findings import NOT_ASKED

if TYPE_CHECKING:
    from compatcheck.docs.grid import Grid
    from compatcheck.docs.reasons import Reason, Reasons
    from compatcheck.docs.sheets import Cell

STATES = ("runs", "degraded", "unknown", "fails", "refused")
"""From best to worst: runs; runs badly; not known, so that it may run; passed by the selector, then fails; refused."""

MARKS = {"runs": "yes", "degraded": "degraded", "fails": "fails", "unknown": "?", "refused": "no"}
"""How a state is written in a table."""


class Said(msgspec.Struct, frozen=True):
    """A state and the codes behind it; for unknown, what is missing or untested."""

    state: str
    codes: tuple[str, ...] = ()
    lacking: str | None = None


class Group(msgspec.Struct, frozen=True):
    """KV-cache dtypes and model shapes about which the same is said."""

    said: Said
    kvs: tuple[str, ...]
    shapes: tuple[str, ...]


class Row(msgspec.Struct, kw_only=True):
    """A backend on one route (None: refused, or no route stated) on SMs where the same is said."""

    backend: str
    route: str | None
    sms: list[str]
    groups: list[Group]
    notes: tuple[str, ...]

    def of(self, state: str) -> list[Group]:
        """Return the groups in a state."""
        return [group for group in self.groups if group.said.state == state]


def said_of(reasons_of: Reasons, cell: Cell) -> Said:
    """Return the state of a cell, whose reasons are numbers in `reasons_of`."""
    reasons = [reasons_of.items[number] for number in cell.reasons]
    if cell.verdict == "supported":
        return Said("runs")
    if cell.verdict == "degraded":
        return Said("degraded", _codes(r.code for r in reasons if r.effect == "degraded"))
    if cell.verdict == "unknown":
        return Said("unknown", (), cell.untested or ", ".join(cell.missing))
    state = "fails" if _goes_on(reasons, cell) else "refused"
    return Said(state, _codes(r.code for r in reasons if r.effect == "unsupported"))


def _goes_on(reasons: list[Reason], cell: Cell) -> bool:
    """Return whether the engine goes on with the backend: its selector accepts it, or is not asked.

    Where the model does not ask the selector and then refuses by itself, that is the refusal.
    """
    if cell.accepts or all(reason.code != NOT_ASKED for reason in reasons):
        return bool(cell.accepts)
    return all(reason.refuser != "engine" for reason in reasons if reason.effect == "unsupported")


class States:
    """What is said of each cell, kept by its number."""

    def __init__(self, grid: Grid) -> None:
        self.grid = grid
        self._known: dict[int, Said] = {}
        self._rows: dict[tuple[int, ...], tuple[Said, ...]] = {}
        self._best: dict[tuple[int, ...], str] = {}

    def of(self, release: str, backend: str, sm: str, kv: str, shape: str, fi: str | None = None) -> Said:
        """Return what is said of a cell, without sinks."""
        return self._of(self.grid.number(release, backend, sm, kv, shape, fi=fi))

    def row(self, release: str, backend: str, sm: str, kv: str) -> tuple[Said, ...]:
        """Return what is said of every shape of the backend's kind, without sinks."""
        numbers = self.grid.row(release, backend, sm, kv)
        known = self._rows.get(numbers)
        if known is None:
            known = self._rows[numbers] = tuple([self._of(number) for number in numbers])
        return known

    def best(self, release: str, backend: str, sm: str, kv: str) -> str:
        """Return the best state over every shape of the backend's kind, without sinks."""
        numbers = self.grid.row(release, backend, sm, kv)
        known = self._best.get(numbers)
        if known is None:
            states = [self._of(number).state for number in numbers]
            known = self._best[numbers] = min(states, key=STATES.index)
        return known

    def _of(self, number: int) -> Said:
        known = self._known.get(number)
        if known is None:
            known = self._known[number] = said_of(self.grid.reasons, self.grid.cells[number])
        return known


def _codes(codes: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(codes))


def rows_of(states: States, release: str, backend: str, sms: Sequence[str]) -> list[Row]:
    """Return what is said of a backend on these SMs: a row per route, SMs with equal rows together."""
    rows: list[Row] = []
    made: dict[tuple[int, ...], list[Row]] = {}
    for sm in sms:
        strips = states.grid.strips_on(release, backend, sm)
        known = made.get(strips)
        if known is None:
            known = made[strips] = _rows_on(states, release, backend, sm)
        for one in known:
            row = msgspec.structs.replace(one, sms=[sm])
            alike = next((r for r in rows if (r.route, r.groups, r.notes) == (row.route, row.groups, row.notes)), None)
            if alike is None:
                rows.append(row)
            else:
                alike.sms += row.sms
    return rows


def _rows_on(states: States, release: str, backend: str, sm: str) -> list[Row]:
    grid = states.grid
    by_route: dict[str | None, dict[tuple[str, Said], list[str]]] = {}
    notes: dict[str | None, list[str]] = {}
    shapes = SHAPES[grid.kind(backend).id]
    for kv in grid.kv_of(release):
        numbers, row = grid.row(release, backend, sm, kv), states.row(release, backend, sm, kv)
        for shape, number, said in zip(shapes, numbers, row, strict=True):
            cell = grid.cells[number]
            by_route.setdefault(cell.route, {}).setdefault((kv, said), []).append(shape.title)
            noted = notes.setdefault(cell.route, [])
            if said.state not in ("fails", "refused"):  # what does not run is in no row that runs
                noted += [grid.reasons.items[n].code for n in cell.reasons if grid.reasons.items[n].effect == "note"]
    return [
        Row(
            backend=backend,
            route=route,
            sms=[sm],
            groups=_together(said),
            notes=tuple(sorted(set(notes[route]))),
        )
        for route, said in by_route.items()
    ]


def _together(said: dict[tuple[str, Said], list[str]]) -> list[Group]:
    merged: dict[tuple[Said, tuple[str, ...]], list[str]] = {}
    for (kv, what), shapes in said.items():
        merged.setdefault((what, tuple(shapes)), []).append(kv)
    groups = [Group(what, tuple(kvs), shapes) for (what, shapes), kvs in merged.items()]
    return sorted(groups, key=lambda g: STATES.index(g.said.state))


def best(states: Iterable[str]) -> str | None:
    """Return the best of several states."""
    return min(states, key=STATES.index, default=None)


def ranges(values: Sequence[str], among: Sequence[str]) -> str:
    """Return values that follow one another in `among` as a span: '0.6.6 to 0.6.12, 0.7.0'."""
    spans: list[list[str]] = []
    wanted = set(values)
    open_ = False
    for value in among:
        if value in wanted:
            if open_:
                spans[-1].append(value)
            else:
                spans.append([value])
        open_ = value in wanted
    return ", ".join(span[0] if len(span) == 1 else f"{span[0]} to {span[-1]}" for span in spans)
