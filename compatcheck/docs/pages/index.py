"""The index: what pages there are, and how they say things."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compatcheck.docs.pages import Page

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from compatcheck.docs.site import Site


def pages(site: Site) -> Iterator[Page]:
    """Yield index.md."""
    grid = site.grid
    yield Page(
        "index.md",
        "index.md.j2",
        {
            "engine": site.engine,
            "releases": grid.releases,
            "newest": grid.newest,
            "pins": site.engine.releases[grid.newest],
            "sms": site.matrix.sms,
            "instead": [sm for sm, entry in site.matrix.sms.items() if entry.instead_of_bfloat16],
            "rules": len(site.catalog),
            "kernels": len(site.matrix.kernels),
            "evidence": len(site.evidence),
            "linear": site.engine.linear is not None,
            "by_hand": by_hand(site.output),
        },
    )


def by_hand(output: Path) -> list[str]:
    """Return the pages beside the generated ones that people write: this repository's."""
    return [name for name in ("contributing", "templates") if (output / f"{name}.md").is_file()]
