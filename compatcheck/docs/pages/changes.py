"""What changed between two engine releases: pins, dtypes, backends, rules, selection, and verdicts."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

from compatcheck.docs.axes import SHAPES
from compatcheck.docs.pages import Page
from compatcheck.docs.states import MARKS, ranges
from compatcheck.matrix.versions import contains

if TYPE_CHECKING:
    from collections.abc import Iterator

    from compatcheck.docs.grid import Grid
    from compatcheck.docs.site import Site


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
    }


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

    Cells of one backend that went the same way on the same SMs are one line.
    """
    grid, states = site.grid, site.states
    lines: list[dict[str, Any]] = []
    dtypes = [kv for kv in grid.kv_of(new) if kv in grid.kv_of(old)]
    had = set(grid.backends(old))
    for backend in grid.backends(new):
        if backend not in had:
            continue
        moved: dict[tuple[str, str, tuple[str, ...]], dict[tuple[str, str], list[str]]] = {}
        for kv in dtypes:
            if grid.same_sheet(old, new, backend, kv):
                continue
            for sm in grid.sms:
                for shape in SHAPES[grid.kind(backend).id]:
                    was = states.of(old, backend, sm, kv, shape.id)
                    now = states.of(new, backend, sm, kv, shape.id)
                    if was.state != now.state:
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
