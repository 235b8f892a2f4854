"""A page per code, and their index."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from compatcheck.docs.pages import Page
from compatcheck.resolve.describe import describe_condition
from compatcheck.resolve.findings import NOT_ASKED

if TYPE_CHECKING:
    from collections.abc import Iterator

    from compatcheck.docs.catalog_entry import Entry
    from compatcheck.docs.site import Site

KINDS = {
    "rule": "Rules",
    "advisory": "Advisories",
    "library": "Library refusals",
    "combination": "Combinations that a backend refuses",
    "gate": "Gates of linear kernels",
    "selector": "Questions of the selector",
    "built-in": "Made by the resolver",
}


def pages(site: Site) -> Iterator[Page]:
    """Yield rules/index.md and rules/CODE.md for every code."""
    entries = list(site.catalog.values())
    groups = [(title, [e for e in entries if e.kind == kind]) for kind, title in KINDS.items()]
    yield Page("rules/index.md", "rules-index.md.j2", {"groups": [(title, found) for title, found in groups if found]})
    alike: dict[str | None, list[Entry]] = {}
    for entry in entries:
        alike.setdefault(entry.subject, []).append(entry)
    for entry in entries:
        alternatives = alike[entry.subject] if entry.subject else []
        yield Page(
            f"rules/{entry.code}.md",
            "rule.md.j2",
            {
                "entry": entry,
                "kind": KINDS[entry.kind],
                "alternatives": alternatives if len(alternatives) > 1 else [],
                "proofs": site.code_proof(entry.code),
                "backends": site.engine.backends,
                "unasked": unasked(site) if entry.code == NOT_ASKED else [],
            },
        )


def unasked(site: Site) -> list[dict[str, Any]]:
    """Return the backends of the newest release whose layers some models make themselves, and where."""
    grid = site.grid
    engine = grid.resolver.engine(grid.engine_name, grid.newest)
    found = []
    for name in grid.backends(grid.newest):
        facts = engine.program(name).facts
        if facts["unasked"]:
            found.append(
                {
                    "backend": name,
                    "cls": site.engine.backends[name].cls,
                    "when": describe_condition(facts["unasked"]) if isinstance(facts["unasked"], dict) else "always",
                    "answered": facts["answered_by_model"] or [],
                    "sources": [source.ref for source in site.engine.backends[name].sources],
                }
            )
    return found
