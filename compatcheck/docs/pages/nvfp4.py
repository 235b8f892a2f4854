"""The NVFP4 page: which route by SM and release, head sizes, FlashInfer versions, what refuses and in which words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from compatcheck.docs.axes import SHAPES
from compatcheck.docs.catalog import mentions
from compatcheck.docs.pages import Page
from compatcheck.docs.states import Said, said_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from compatcheck.docs.grid import Grid
    from compatcheck.docs.site import Site

BACKEND = "FLASHINFER"
KV = "nvfp4"
HEAD = "128"

Answer = tuple[str | None, Said]
"""The route that the selector's acceptance leads to, and what is said."""


def pages(site: Site) -> Iterator[Page]:
    """Yield nvfp4.md, where the matrix knows the dtype and the backend."""
    grid = site.grid
    if KV not in site.matrix.kv_cache_dtypes or BACKEND not in site.engine.backends:
        return
    tables = {"by_release": by_release(grid), "by_head": by_head(grid), "by_flashinfer": by_flashinfer(grid)}
    in_tables = {
        code
        for rows in tables.values()
        for row in rows
        for _, said in (row["answers"] or {}).values()
        for code in said.codes
    }
    entries = [
        e
        for e in site.catalog.values()
        if e.code in in_tables
        or (not e.linear and any(mentions(c, KV, frozenset({"nvfp4_route"})) for c in e.conditions))
    ]
    mla = [e for e in entries if e.refuser == "engine" and any(c.get("use_mla") for c in e.conditions)]
    yield Page(
        "nvfp4.md",
        "nvfp4.md.j2",
        {
            "engine": site.engine,
            "release": grid.newest,
            "pins": site.engine.releases[grid.newest],
            "sms": grid.sms,
            "backend": BACKEND,
            "head": HEAD,
            **tables,
            "routes": {id_: r for id_, r in site.engine.routes.items() if KV in id_},
            "mla": mla,
            "entries": [entry for entry in entries if entry not in mla],
            "facts": site.matrix.kv_cache_dtypes[KV],
            "others": others(grid),
        },
    )


def others(grid: Grid) -> list[dict[str, Any]]:
    """Return the other backends that run the dtype under the newest release: SMs and what is said of them."""
    found = []
    for backend in grid.backends(grid.newest):
        if backend == BACKEND:
            continue
        for shape in SHAPES[grid.kind(backend).id]:
            said: dict[Said, list[str]] = {}
            for sm in grid.sms:
                cell = grid.cell(grid.newest, backend, sm, KV, shape.id)
                said.setdefault(said_of(grid.reasons, cell), []).append(sm)
            runs = {one: sms for one, sms in said.items() if one.state in ("runs", "degraded")}
            found += [
                {
                    "backend": backend,
                    "shape": shape.title,
                    "said": one,
                    "sms": sms,
                    "since": _since(grid, backend, sms[0], shape.id),
                }
                for one, sms in runs.items()
            ]
    return found


def _since(grid: Grid, backend: str, sm: str, shape: str) -> str | None:
    """Return the first release in which a backend runs the dtype."""
    for release in grid.releases:
        known = KV in grid.kv_of(release) and backend in grid.backends(release)
        if known and said_of(grid.reasons, grid.cell(release, backend, sm, KV, shape)).state in ("runs", "degraded"):
            return release
    return None


def _answer(grid: Grid, release: str, sm: str, head: str, fi: str | None = None) -> Answer:
    cell = grid.cell(release, BACKEND, sm, KV, head, fi=fi)
    return cell.route, said_of(grid.reasons, cell)


def by_release(grid: Grid) -> list[dict[str, Any]]:
    """Return, newest first, runs of releases with the same answer on every SM; None where the dtype is not accepted."""
    rows: list[dict[str, Any]] = []
    for release in reversed(grid.releases):
        known = KV in grid.kv_of(release) and BACKEND in grid.backends(release)
        answers = {sm: _answer(grid, release, sm, HEAD) for sm in grid.sms} if known else None
        if rows and rows[-1]["answers"] == answers:
            rows[-1]["releases"].insert(0, release)
        else:
            rows.append({"releases": [release], "answers": answers})
    return rows


def by_head(grid: Grid) -> list[dict[str, Any]]:
    """Return, per head size, the answers of the newest release on every SM."""
    return [
        {"head": shape.title, "answers": {sm: _answer(grid, grid.newest, sm, shape.id) for sm in grid.sms}}
        for shape in SHAPES["standard"]
    ]


def by_flashinfer(grid: Grid) -> list[dict[str, Any]]:
    """Return, newest first, runs of FlashInfer versions with the same answer under the newest release."""
    rows: list[dict[str, Any]] = []
    for version in reversed(grid.flashinfer):
        answers = {sm: _answer(grid, grid.newest, sm, HEAD, version) for sm in grid.sms}
        if rows and rows[-1]["answers"] == answers:
            rows[-1]["versions"].insert(0, version)
        else:
            rows.append({"versions": [version], "answers": answers})
    return rows
