"""KV-cache dtypes: storage, bits, capacity against 16 bits, since when, and where each runs."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

from compatcheck.docs.pages import Page
from compatcheck.docs.states import best

if TYPE_CHECKING:
    from collections.abc import Iterator

    from compatcheck.docs.grid import Grid
    from compatcheck.docs.site import Site


def pages(site: Site) -> Iterator[Page]:
    """Yield kv-dtypes.md."""
    grid = site.grid
    yield Page(
        "kv-dtypes.md",
        "kv-dtypes.md.j2",
        {
            "engine": site.engine,
            "release": grid.newest,
            "families": site.families(),
            "sms": grid.sms,
            "instead": [sm for sm, entry in site.matrix.sms.items() if entry.instead_of_bfloat16],
            "dtypes": [
                {
                    "name": name,
                    "facts": facts,
                    "capacity": capacity(facts.bits),
                    "since": first_release(grid, name),
                    "where": (found := where(site, name)),
                    "anywhere": any(one["backends"] for one in found.values()),
                    "in_release": name in grid.kv_of(grid.newest),
                }
                for name, facts in site.matrix.kv_cache_dtypes.items()
            ],
        },
    )


def capacity(bits: str | None) -> str | None:
    """Return how many times as many tokens fit as with 16 bits: '9/2' -> '3.56'. None where the bits are not stated."""
    if bits is None:
        return None
    ratio = Fraction(16) / Fraction(bits)
    return f"{float(ratio):.3g}"


def first_release(grid: Grid, kv: str) -> str | None:
    """Return the first covered release that accepts a dtype."""
    return next((release for release in grid.releases if kv in grid.kv_of(release)), None)


def where(site: Site, kv: str) -> dict[str, dict[str, Any]]:
    """Return, per SM, the best state that any backend has for a dtype, and the backends in each state but refused."""
    grid = site.grid
    if kv not in grid.kv_of(grid.newest):
        return {}
    found: dict[str, dict[str, Any]] = {}
    for sm in grid.sms:
        by_state: dict[str, list[str]] = {}
        for backend in grid.backends(grid.newest):
            by_state.setdefault(site.states.best(grid.newest, backend, sm, kv), []).append(backend)
        found[sm] = {"state": best(by_state), "backends": {k: v for k, v in by_state.items() if k != "refused"}}
    return found
