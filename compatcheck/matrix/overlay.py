"""A site's own facts over the packaged ones: a fork that patched a gate, a GPU of its own."""

from __future__ import annotations

from typing import Any

APPENDED = frozenset({"changes", "routing", "sources"})
"""Lists that an overlay adds to; every other list it replaces."""


def merge(base: Any, over: Any, key: str = "") -> Any:
    """Return `base` with `over` merged in: mappings key by key, histories appended, anything else replaced."""
    if isinstance(base, dict) and isinstance(over, dict):
        merged = dict(base)
        for name, value in over.items():
            merged[name] = merge(base[name], value, name) if name in base else value
        return merged
    if key in APPENDED and isinstance(base, list) and isinstance(over, list):
        return [*over, *base] if key == "routing" else [*base, *over]
    return over
