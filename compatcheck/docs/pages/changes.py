"""What changed between two engine releases: pins, dtypes, backends, rules, selection, and verdicts."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

from compatcheck.docs.axes import SHAPES, shapes_of
from compatcheck.docs.linear_asks import environment_value
from compatcheck.docs.linear_states import MARKS as LINEAR_MARKS
from compatcheck.docs.linear_states import short
from compatcheck.docs.linear_tables import changes as linear_changes
from compatcheck.docs.linear_tables import orders
from compatcheck.docs.pages import Page
from compatcheck.docs.states import MARKS, ranges
from compatcheck.matrix.versions import contains
from compatcheck.resolve.backend import of_release

if TYPE_CHECKING:
    from collections.abc import Iterator

    from compatcheck.docs.grid import Grid
    from compatcheck.docs.linear_grid import LinearGrid
    from compatcheck.docs.site import Site
    from compatcheck.resolve.linear import LinearProgram


def pages(site: Site) -> Iterator[Page]:
    """Yield changes/index.md and changes/RELEASE.md, each against the release before it."""
    releases = site.grid.releases
    pairs = list(pairwise(releases))
    found = {new: between(site, old, new) for old, new in pairs}
    yield Page(
        "changes/index.md",
        "changes-index.md.j2",
        {
            "engine": site.engine,
            "releases": list(reversed(releases)),
            "oldest": releases[0],
            "changes": found,
        },
    )
    for new, changes in found.items():
        yield Page(f"changes/{new}.md", "changes.md.j2", changes)


def between(site: Site, old: str, new: str) -> dict[str, Any]:
    """Return what changed from one release to a later one."""
    grid, engine = site.grid, site.engine
    before, after = engine.releases[old], engine.releases[new]
    kv_before, kv_after = grid.kv_of(old), grid.kv_of(new)
    had, has = grid.backends(old), grid.backends(new)
    return {
        "engine": engine,
        "old": old,
        "new": new,
        "pins": [
            (name, getattr(before, field), getattr(after, field))
            for name, field in (("FlashInfer", "flashinfer"), ("PyTorch", "torch"), ("CUDA", "cuda"))
            if getattr(before, field) != getattr(after, field)
        ],
        "kv_added": [kv for kv in kv_after if kv not in kv_before],
        "kv_removed": [kv for kv in kv_before if kv not in kv_after],
        "backends_added": [(b, engine.backends[b]) for b in has if b not in had],
        "backends_removed": [(b, engine.backends[b]) for b in had if b not in has],
        "rules_begin": _rules(site, old, new, holds=True),
        "rules_end": _rules(site, old, new, holds=False),
        "verdicts": verdicts(site, old, new),
        "linear": linear(site, old, new),
        "short": short,
        "marks": LINEAR_MARKS,
    }


def linear(site: Site, old: str, new: str) -> dict[str, Any] | None:
    """Return what changed for NVFP4 linear layers: kernels, options, the order, picks. None where nothing did."""
    grid = site.linear
    if grid is None:
        return None
    before, after = grid.program(old), grid.program(new)
    options = [{name for name in p.options if p.named_by(name)} for p in (before, after)]
    found = {
        "kernels_added": [n for n in after.kernels if n not in before.kernels],
        "kernels_removed": [n for n in before.kernels if n not in after.kernels],
        "options_added": [n for n in after.options if n in options[1] - options[0]],
        "options_removed": [n for n in before.options if n in options[0] - options[1]],
        "variables_removed": [
            n for n in grid.linear.kernels if _variable(grid, old, n) and not _variable(grid, new, n)
        ],
        "orders": orders(grid, new) if orders(grid, new) != orders(grid, old) else [],
        "gates": _gates(before, after),
        "picks": linear_changes(grid, old, new),
    }
    return found if any(found.values()) else None


def _gates(before: LinearProgram, after: LinearProgram) -> list[tuple[str, str]]:
    """Return (kernel, gate) for each gate of a kernel of both releases that is new, or asks something else."""
    found = []
    for name in after.kernels:
        gates = after.linear.kernels[name].gates
        had = [(gate.code, gate.when, gate.words) for gate in of_release(gates, before.release)]
        new = [gate for gate in of_release(gates, after.release) if (gate.code, gate.when, gate.words) not in had]
        found += [(name, gate.code) for gate in new if name in before.kernels]
    return found


def _variable(grid: LinearGrid, release: str, kernel: str) -> str | None:
    return environment_value(grid.linear, release, kernel)


def _rules(site: Site, old: str, new: str, *, holds: bool) -> list[Any]:
    """Return the codes whose range of engine releases starts (or stops) to hold."""
    return [
        site.catalog[code]
        for code, rule in site.matrix.rules.items()
        if rule.versions
        and rule.axis == "engine_version"
        and contains(rule.versions, new) == holds
        and contains(rule.versions, old) != holds
    ]


def verdicts(site: Site, old: str, new: str) -> list[dict[str, Any]]:
    """Return which cells say something else, each release with the FlashInfer that it pins.

    Cells of one backend that went the same way on the same SMs are one line. A model that the earlier release does not
    know is not compared.
    """
    grid, states = site.grid, site.states
    lines: list[dict[str, Any]] = []
    dtypes = [kv for kv in grid.kv_of(new) if kv in grid.kv_of(old)]
    had = set(grid.backends(old))
    alike = grid.engine.releases[old].flashinfer == grid.engine.releases[new].flashinfer
    for backend in grid.backends(new):
        if backend not in had or (alike and grid.block(old, backend) is grid.block(new, backend)):
            continue
        moved: dict[tuple[str, str, tuple[str, ...]], dict[tuple[str, str], list[str]]] = {}
        kind = grid.kind(backend).id
        compared = shapes_of(kind, old)
        known = [shape in compared for shape in SHAPES[kind]]
        for kv in dtypes:
            for sm in grid.differing_sms(old, new, backend, kv):
                before, after = states.row(old, backend, sm, kv), states.row(new, backend, sm, kv)
                if before is after:
                    continue
                for shape, compare, was, now in zip(SHAPES[kind], known, before, after, strict=True):
                    if compare and was.state != now.state:
                        codes = now.codes or was.codes
                        way = (MARKS[was.state], MARKS[now.state], codes)
                        moved.setdefault(way, {}).setdefault((kv, shape.title), []).append(sm)
        lines += [_line(grid, backend, way, cells) for way, cells in moved.items()]
    return lines


def _line(
    grid: Grid, backend: str, way: tuple[str, str, tuple[str, ...]], cells: dict[tuple[str, str], list[str]]
) -> dict[str, Any]:
    where: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for (kv, shape), sms in cells.items():
        where.setdefault((kv, tuple(sms)), []).append(shape)
    merged: dict[tuple[tuple[str, ...], tuple[str, ...]], list[str]] = {}
    for (kv, sms_), shapes in where.items():
        merged.setdefault((sms_, tuple(shapes)), []).append(kv)
    was, now, codes = way
    return {
        "backend": backend,
        "was": was,
        "now": now,
        "codes": codes,
        "where": [(kvs, list(shapes), ranges(sms_, grid.sms)) for (sms_, shapes), kvs in merged.items()],
    }
