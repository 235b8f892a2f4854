"""The regions about NVFP4 linear layers: what is picked by SM, and each kernel by SM."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compatcheck.docs import markdown
from compatcheck.docs.environment import DocsError
from compatcheck.docs.linear_asks import ENGINE
from compatcheck.docs.linear_states import MARKS, said_of, short
from compatcheck.docs.linear_tables import pick

if TYPE_CHECKING:
    from collections.abc import Sequence

    from compatcheck.docs.linear_grid import LinearGrid
    from compatcheck.docs.site import Site

LAYERS = {"w4a4": "nvfp4_w4a4", "w4a16": "nvfp4_w4a16"}


def picked(site: Site, sms: Sequence[str], release: str, flashinfer: str | None, layer: str) -> str:
    """Return SMs by scheme: the kernel that is picked, how it computes, and the mark of the answer."""
    grid = _grid(site)
    ask = grid.ask(release, ENGINE)
    chosen = _layers(layer)
    rows = []
    for sm in sms:
        row = [sm]
        for scheme in chosen.values():
            found = pick(grid, grid.cell(release, scheme, ask, sm, flashinfer), ask)
            taken = f"{markdown.code(short(found.kernel))} {found.compute}: " if found.kernel else ""
            row.append(taken + MARKS[found.said.state])
        rows.append(row)
    table = markdown.table(["SM", *[name.upper() for name in chosen]], rows)
    return f"{_caption(site, release, flashinfer)}, NVFP4 linear layers:\n\n{table}"


def kernels(site: Site, sms: Sequence[str], release: str, flashinfer: str | None, layer: str) -> str:
    """Return the release's kernels by SM: the mark of asking for each, for one scheme."""
    grid = _grid(site)
    scheme = next(iter(_layers(layer or "w4a4").values()))
    rows = []
    for ask in grid.asks(release):
        if ask.kernel is None or scheme not in grid.linear.kernels[ask.kernel].serves:
            continue
        cells = [grid.cell(release, scheme, ask, sm, flashinfer) for sm in sms]
        rows.append([markdown.code(ask.kernel), *[MARKS[said_of(grid, cell, ask).state] for cell in cells]])
    what = f"NVFP4 {scheme.removeprefix('nvfp4_').upper()} layers with one kernel asked for"
    return f"{_caption(site, release, flashinfer)}, {what}:\n\n{markdown.table(['Kernel', *sms], rows)}"


def _grid(site: Site) -> LinearGrid:
    if site.linear is None:
        raise DocsError(f"the matrix says nothing of {site.engine.title}'s linear layers")
    return site.linear


def _layers(layer: str) -> dict[str, str]:
    wanted = layer.lower().removeprefix("nvfp4_")
    if wanted and wanted not in LAYERS:
        raise DocsError(f"layer={layer} is not known; there are: {', '.join(LAYERS)}")
    return {wanted: LAYERS[wanted]} if wanted else LAYERS


def _caption(site: Site, release: str, flashinfer: str | None) -> str:
    version = flashinfer or site.engine.releases[release].flashinfer
    return f"{site.engine.title} {release}, FlashInfer {version}"
