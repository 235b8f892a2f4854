"""A site's own facts over the packaged ones: a fork that patched a gate, a GPU of its own."""

from __future__ import annotations

from typing import Any, TypeVar

APPENDED = frozenset({"changes", "routing", "sources"})
"""Lists that an overlay adds to; every other list it replaces."""

NO_FACTS = frozenset({"since", "until", "title", "extends", "members", "member_words", "cls", "changes", "sources"})
"""Keys of a backend's entry that are no facts."""

Path = tuple[str | int, ...]
T = TypeVar("T")


def merge(base: Any, over: Any, key: str = "") -> Any:
    """Return `base` with `over` merged in: mappings key by key, histories appended, anything else replaced.

    What an overlay states of an entry outside its `changes` holds for every release: later changes of the base that
    would say otherwise are dropped.
    """
    if isinstance(base, dict) and isinstance(over, dict):
        merged = dict(base)
        if overruled(base, over):
            drop = set(over) - NO_FACTS
            merged["changes"] = [
                {field: value for field, value in change.items() if field not in drop}
                if isinstance(change, dict)
                else change
                for change in base["changes"]
            ]
            base = merged
            merged = dict(base)
        for name, value in over.items():
            merged[name] = merge(base[name], value, name) if name in base else value
        return merged
    if key in APPENDED and isinstance(base, list) and isinstance(over, list):
        return [*over, *base] if key == "routing" else [*base, *over]
    return over


def overruled(base: dict[str, Any], over: dict[str, Any]) -> list[tuple[int, str]]:
    """Return the facts of the base's `changes` that an overlay overrules: position of the change, name of the fact."""
    changes = base.get("changes")
    if not isinstance(changes, list):
        return []
    return [
        (index, field)
        for index, change in enumerate(changes)
        if isinstance(change, dict)
        for field in change
        if field in over and field not in NO_FACTS
    ]


def merge_places(base: Any, over: Any, base_at: dict[Path, T], over_at: dict[Path, T]) -> dict[Path, T]:
    """Return the places of `merge(base, over)`: of an entry that both name, the overlay's."""
    places = dict(base_at)
    _merge_places(base, over, (), places, over_at)
    return places


def _merge_places(base: Any, over: Any, path: Path, places: dict[Path, T], over_at: dict[Path, T]) -> None:
    if path in over_at:
        places[path] = over_at[path]
    if isinstance(base, dict) and isinstance(over, dict):
        for index, field in overruled(base, over):
            gone = (*path, "changes", index, field)
            for inner in [place for place in places if place[: len(gone)] == gone]:
                del places[inner]
        for name, value in over.items():
            _merge_places(base.get(name), value, (*path, name), places, over_at)
    elif path and path[-1] in APPENDED and isinstance(base, list) and isinstance(over, list):
        if path[-1] == "routing":
            _move(base, path, len(over), places, {p: places.pop(p) for p in _inside(base, path) if p in places})
            _move(over, path, 0, places, over_at)
        else:
            _move(over, path, len(base), places, over_at)
    else:
        for inner in _inside(base, path):
            places.pop(inner, None)
        places.update({inner: over_at[inner] for inner in _inside(over, path) if inner in over_at})


def _move(items: list[Any], path: Path, by: int, places: dict[Path, T], taken_from: dict[Path, T]) -> None:
    """Enter a list's places, its items `by` positions further on."""
    for inner in _inside(items, path):
        index = inner[len(path)]
        if inner in taken_from and isinstance(index, int):
            places[(*path, index + by, *inner[len(path) + 1 :])] = taken_from[inner]


def _inside(value: Any, path: Path) -> list[Path]:
    """Return the path of everything inside a value, each before what is inside it."""
    found: list[Path] = []
    entries = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in entries:
        inner = (*path, key)
        found.append(inner)
        if isinstance(item, (dict, list)):
            found += _inside(item, inner)
    return found
