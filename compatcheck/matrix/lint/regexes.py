"""Regular expressions that may take for ever: a repetition inside a repetition, or of choices that begin alike.

Why: a pattern is searched in whatever is pasted into `explain`, a log of a megabyte included. `(a+)+` looks at every
way to share out a run of a's before it gives up; nobody waits for that.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib import import_module
from typing import Any

parser: Any = import_module("re._parser" if sys.version_info >= (3, 11) else "sre_parse")

_MANY = 100
"""From so many repetitions on, a repetition counts as without end."""


def slow(pattern: str) -> str | None:
    """Return what may make a pattern take for ever, or None. Raises `re.error`."""
    return next(_slow(parser.parse(pattern)), None)


def _slow(parsed: Any) -> Iterator[str]:
    for operator, argument in parsed:
        name = str(operator)
        if name in ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"):
            _, most, inner = argument
            endless = most is parser.MAXREPEAT or most >= _MANY
            if name != "POSSESSIVE_REPEAT" and endless:
                if any(_varies(inside) for inside in inner):
                    yield "a repetition stands inside a repetition"
                elif any(_alike(inside) for inside in inner):
                    yield "a repetition holds choices that begin alike"
            yield from _slow(inner)
        else:
            for inside in _inside(name, argument):
                yield from _slow(inside)


def _inside(name: str, argument: Any) -> list[Any]:
    if name == "SUBPATTERN":
        return [argument[-1]]
    if name == "BRANCH":
        return list(argument[1])
    if name in ("ASSERT", "ASSERT_NOT"):
        return [argument[1]]
    if name == "ATOMIC_GROUP":
        return [argument]
    if name == "GROUPREF_EXISTS":
        return [part for part in argument[1:] if part is not None]
    return []


def _varies(item: Any) -> bool:
    """Return whether an item, or something in it, matches texts of several lengths by repeating."""
    name, argument = str(item[0]), item[1]
    if name in ("MAX_REPEAT", "MIN_REPEAT"):
        least, most, inner = argument
        return bool(least != most and most != 1) or any(_varies(inside) for inside in inner)
    return any(_varies(inside) for part in _inside(name, argument) for inside in part)


def _alike(item: Any) -> bool:
    """Return whether an item holds choices of which two may begin with the same character."""
    name, argument = str(item[0]), item[1]
    if name == "BRANCH":
        first = [str(part[0]) if len(part) else "" for part in argument[1]]
        anything = any(start.startswith("(ANY") or "CATEGORY" in start for start in first)
        return len(set(first)) < len(first) or (anything and len(first) > 1)
    return any(_alike(inside) for part in _inside(name, argument) for inside in part)
