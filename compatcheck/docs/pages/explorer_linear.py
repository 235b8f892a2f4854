"""The explorer's data about NVFP4 linear layers: every way to ask of every release, its cells by position."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from compatcheck.docs.linear_asks import BATCH_INVARIANT, ENGINE
from compatcheck.docs.linear_states import short

if TYPE_CHECKING:
    from compatcheck.docs.linear_asks import Ask
    from compatcheck.docs.linear_grid import LinearGrid
    from compatcheck.docs.linear_sheets import LinearCell
    from compatcheck.docs.site import Site

TITLES = {ENGINE: "the engine's choice", BATCH_INVARIANT: "with VLLM_BATCH_INVARIANT"}


def linear_data(site: Site, verdicts: tuple[str, ...]) -> dict[str, Any] | None:
    """Return what the page shows of linear layers; None where the matrix says nothing of them.

    `sets` holds what releases that are the same share: pairs of a way to ask and a sheet per scheme. A sheet has a
    strip per class of SMs, a strip one cell, or one per class of FlashInfer versions.
    """
    grid = site.linear
    if grid is None:
        return None
    linear = grid.linear
    kernels = list(linear.kernels)
    packed = _Packed(grid, kernels, verdicts)
    leaders = [grid.releases[grid.release_classes.index(n)] for n in range(max(grid.release_classes) + 1)]
    sets = [packed.of(release) for release in leaders]
    return {
        "schemes": [{"id": id_, "title": f"{id_}: {scheme.title}"} for id_, scheme in linear.schemes.items()],
        "compute": {id_: msgspec.to_builtins(meaning) for id_, meaning in linear.compute.items()},
        "kernels": [_kernel(site, name) for name in kernels],
        "sm": grid.sm_classes,
        "fi": grid.fi_classes,
        "releases": grid.release_classes,
        "sets": sets,
        "asks": packed.asks,
        "sheets": packed.sheets,
        "cells": [packed.cell(cell) for cell in grid.cells],
        "tried": packed.tried,
        "reasons": [_without_none(msgspec.to_builtins(reason)) for reason in grid.reasons.items],
    }


class _Packed:
    """Ways to ask, sheets and lists of tried kernels, each once."""

    def __init__(self, grid: LinearGrid, kernels: list[str], verdicts: tuple[str, ...]) -> None:
        self._grid = grid
        self._kernels = kernels
        self._verdicts = verdicts
        self.asks: list[dict[str, Any]] = []
        self.sheets: list[Any] = []
        self.tried: list[Any] = []

    def of(self, release: str) -> dict[str, Any]:
        """Return a release's ways to ask with their sheets, and the kernels that nothing asks for."""
        asks = self._grid.asks(release)
        asked = {ask.kernel for ask in asks}
        return {
            "asks": [
                [_intern(self.asks, self._ask(ask)), *[self._sheet(release, s, ask) for s in self._grid.schemes]]
                for ask in asks
            ],
            "silent": [self._kernels.index(n) for n in self._grid.program(release).kernels if n not in asked],
        }

    def _ask(self, ask: Ask) -> dict[str, Any]:
        kernel = None if ask.kernel is None else self._kernels.index(ask.kernel)
        return {"id": ask.id, "title": TITLES.get(ask.id, ask.id), "kernel": kernel, "fields": ask.fields}

    def _sheet(self, release: str, scheme: str, ask: Ask) -> int:
        return _intern(self.sheets, self._grid.sheet(release, scheme, ask).strips)

    def cell(self, cell: LinearCell) -> tuple[Any, ...]:
        """Return a cell with numbers for names."""
        number = self._kernels.index
        tried = [(number(tried.kernel), tried.words, tried.code) for tried in cell.tried]
        return (
            self._verdicts.index(cell.verdict),
            None if cell.accepts is None else int(cell.accepts),
            None if cell.selected is None else number(cell.selected),
            cell.fails_at,
            cell.reasons,
            cell.missing,
            cell.untested,
            _intern(self.tried, tried),
            cell.compute,
        )


def _intern(items: list[Any], item: Any) -> int:
    if item not in items:
        items.append(item)
    return items.index(item)


def _kernel(site: Site, name: str) -> dict[str, Any]:
    assert site.engine.linear is not None
    kernel = site.engine.linear.kernels[name]
    proofs = [(p.evidence.fingerprint.sm, line) for p in site.evidence for line in p.outcomes(kernel.kernel or "")]
    return _without_none(
        {
            "id": name,
            "short": short(name),
            "title": kernel.title,
            "compute": kernel.compute,
            "serves": kernel.serves,
            "since": kernel.since,
            "library": kernel.kernel,
            "multiple_of": kernel.multiple_of,
            "multiple_of_n": kernel.multiple_of_n,
            "note": kernel.note,
            "sources": [source.ref for source in kernel.sources],
            "proof": proofs if kernel.kernel else [],
        }
    )


def _without_none(value: dict[str, Any]) -> dict[str, Any]:
    return {key: item for key, item in value.items() if item is not None and item != []}
