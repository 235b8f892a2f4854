"""The explorer: one HTML file with every answer of the grid in it, looked up by position and never computed again."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any

import msgspec

from compatcheck.docs.axes import KINDS, SHAPES, all_shapes, shape_offset
from compatcheck.docs.bitmaps import number_values
from compatcheck.docs.pages import Page
from compatcheck.docs.pages.explorer_linear import linear_data

if TYPE_CHECKING:
    from collections.abc import Iterator

    from compatcheck.docs.grid import Grid
    from compatcheck.docs.site import Site

VERDICTS = ("supported", "degraded", "unsupported", "unknown")


def pages(site: Site) -> Iterator[Page]:
    """Yield explorer.html."""
    yield Page(
        "explorer.html",
        "explorer.html.j2",
        {"engine": site.engine, "newest": site.grid.newest, "data": embed(data(site))},
    )


def embed(value: Any) -> Any:
    """Return JSON that is safe inside a script element."""
    from markupsafe import Markup

    encoded = msgspec.json.encode(value).decode()
    for character, escaped in (("<", "\\u003c"), (">", "\\u003e"), ("&", "\\u0026"), ("\u2028", "\\u2028")):
        encoded = encoded.replace(character, escaped)
    # Every character that HTML could read as markup is escaped above.
    return Markup(encoded)  # noqa: S704


def data(site: Site) -> dict[str, Any]:
    """Return everything that the page shows: axes, then blocks of sheets of cells of reasons, each once."""
    grid = site.grid
    names = list(site.engine.backends)
    blocks: dict[tuple[int | None, ...], int] = {}
    orders = Orders(grid, names)
    releases = [_release(grid, release, names, blocks, orders) for release in grid.releases]
    routes = list(site.engine.routes)
    return {
        "schema": 1,
        "engine": site.engine.title,
        "verdicts": VERDICTS,
        "sms": [{"id": sm, "family": e.family, "arch": e.arch, "gpus": e.gpus} for sm, e in site.matrix.sms.items()],
        "kv": [{"id": name, "title": facts.title} for name, facts in site.matrix.kv_cache_dtypes.items()],
        "kinds": [
            {
                "id": kind.id,
                "title": kind.title,
                "fields": {"use_mla": kind.use_mla, "use_sparse": kind.use_sparse},
                "shapes": [{"id": s.id, "title": s.title, "fields": s.fields} for s in SHAPES[kind.id]],
            }
            for kind in KINDS
        ],
        "fi": grid.flashinfer,
        "releases": releases,
        "backends": [
            {
                "id": name,
                "title": b.title,
                "kind": KINDS.index(grid.kind(name)),
                "since": b.since,
                "sources": [source.ref for source in b.sources],
            }
            for name, b in site.engine.backends.items()
        ],
        "blocks": list(blocks),
        "sheets": [sheet.strips for sheet in grid.sheets],
        "strips": [(*strip.classes, strip.sizes, strip.cells) for strip in grid.strips],
        "cells": [
            (
                VERDICTS.index(cell.verdict),
                None if cell.accepts is None else int(cell.accepts),
                None if cell.route is None else routes.index(cell.route),
                cell.fails_at,
                cell.reasons,
                cell.missing,
                cell.untested,
            )
            for cell in grid.cells
        ],
        "reasons": [_reason(reason) for reason in grid.reasons.items],
        "routes": [_without_none(msgspec.to_builtins(site.engine.routes[id_]) | {"id": id_}) for id_ in routes],
        "kernels": {
            name: {"title": k.title, "proof": site.kernel_proof(name)} for name, k in site.matrix.kernels.items()
        },
        "orders": orders.lists,
        "tables": orders.tables,
        "linear": linear_data(site, VERDICTS),
    }


def _release(
    grid: Grid, release: str, names: list[str], blocks: dict[tuple[int | None, ...], int], orders: Orders
) -> dict[str, Any]:
    pins = grid.engine.releases[release]
    present = set(grid.backends(release))
    return {
        "v": release,
        "fi": grid.flashinfer.index(pins.flashinfer),
        "torch": pins.torch,
        "cuda": pins.cuda,
        "kv": [grid.kv_dtypes.index(kv) for kv in grid.kv_of(release)],
        "blocks": [
            blocks.setdefault(grid.block(release, name).kv, len(blocks)) if name in present else None for name in names
        ],
        "order": orders.of(release),
    }


def _reason(reason: Any) -> dict[str, Any]:
    return _without_none(msgspec.to_builtins(reason))


def _without_none(value: dict[str, Any]) -> dict[str, Any]:
    return {key: item for key, item in value.items() if item is not None and item != []}


class Orders:
    """The order in which a release tries backends, by kind, SM, KV-cache dtype and shape; equal ones are kept once."""

    def __init__(self, grid: Grid, names: list[str]) -> None:
        self._grid = grid
        self._names = names
        self.lists: list[list[int]] = []
        self.tables: list[Any] = []
        self._numbers: dict[Any, int] = {}

    def of(self, release: str) -> list[int]:
        """Return the number of the table of each kind."""
        return [self._table(release, number) for number in range(len(KINDS))]

    def _table(self, release: str, number: int) -> int:
        grid, kind = self._grid, KINDS[number]
        engine = grid.resolver.engine(grid.engine_name, release)
        told = grid.asker.order(release).vectors
        shapes = SHAPES[kind.id]
        start = shape_offset(kind)
        vectors = {axis: {v.values for v in told if v.axis == axis} for axis in ("sm", "kv", "shape")}
        vectors["shape"] = {v[start : start + len(shapes)] for v in vectors["shape"]}
        counts = {"sm": len(grid.sms), "kv": len(grid.kv_dtypes), "shape": len(shapes)}
        pairs = [number_values(vectors[axis], count) for axis, count in counts.items()]
        cells = []
        for sm, kv, shape in product(*[first for _, first in pairs]):
            facts = msgspec.structs.replace(
                grid.on(grid.sms[sm], release),
                kv_cache_dtype=grid.kv_dtypes[kv],
                use_mla=kind.use_mla,
                use_sparse=kind.use_sparse,
                **all_shapes()[start + shape].fields,
            )
            order, _ = engine.order(facts)
            cells.append(self._intern(self.lists, [self._names.index(n) for n in order or []]))
        table = [[classes for classes, _ in pairs], [len(first) for _, first in pairs], cells]
        return self._intern(self.tables, table)

    def _intern(self, items: list[Any], item: Any) -> int:
        key = (items is self.lists, repr(item))
        known = self._numbers.get(key)
        if known is None:
            known = self._numbers[key] = len(items)
            items.append(item)
        return known
