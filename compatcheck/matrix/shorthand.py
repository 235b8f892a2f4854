"""Short forms that a matrix file may use, written out before anything looks at the values.

- A source may be a plain text: `file:symbol@version`, an address, or `run: what was run`; a remark follows ` -- `.
- A rule may say `stops: {by: engine, at: config, effect: unsupported}` for `refuser`, `bites` and `effect`.
"""

from __future__ import annotations

from typing import Any

_STOPS = {"by": "refuser", "at": "bites", "effect": "effect"}


def expand(value: Any) -> Any:
    """Return the values with short forms written out; what is not a short form is kept, right or wrong."""
    if isinstance(value, str):  # most are
        return value
    if isinstance(value, list):
        return [expand(item) for item in value]
    if not isinstance(value, dict):
        return value
    expanded: dict[Any, Any] = {}
    for key, item in value.items():
        if isinstance(key, str) and key.endswith("sources") and isinstance(item, list):
            expanded[key] = [source(entry) if isinstance(entry, str) else expand(entry) for entry in item]
        elif key == "stops" and isinstance(item, dict) and set(item) <= set(_STOPS):
            expanded.update({_STOPS[short]: entry for short, entry in item.items()})
        else:
            expanded[key] = expand(item)
    return expanded


def source(text: str) -> dict[str, str]:
    """Return a source's fields: where it is, what kind of place that is, and the remark if there is one."""
    ref, _, note = text.partition(" -- ")
    kind = "source"
    if ref.startswith("run: "):
        kind, ref = "run", ref.removeprefix("run: ")
    elif ref.startswith(("http://", "https://")):
        kind = "thread"
    return {"ref": ref, "kind": kind} | ({"note": note} if note else {})
