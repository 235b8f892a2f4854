"""A page per code, and their index."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compatcheck.docs.pages import Page

if TYPE_CHECKING:
    from collections.abc import Iterator

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
    for entry in entries:
        alternatives = [e for e in entries if entry.subject and e.subject == entry.subject]
        yield Page(
            f"rules/{entry.code}.md",
            "rule.md.j2",
            {
                "entry": entry,
                "kind": KINDS[entry.kind],
                "alternatives": alternatives if len(alternatives) > 1 else [],
                "proofs": site.code_proof(entry.code),
                "backends": site.engine.backends,
            },
        )
