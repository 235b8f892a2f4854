"""Launches of a text that stands inside another file, with their places counted in the whole file."""

from __future__ import annotations

from typing import TypeVar

import msgspec

from compatcheck.launch.launch_parts import with_each_word
from compatcheck.launch.model import Launch, Setting, Word

_Placed = TypeVar("_Placed", Word, Setting, Launch)


def moved(launch: Launch, lines: int, columns: int) -> Launch:
    """Return a launch whose text starts below so many lines and behind so many columns of the whole file."""
    return _replaced(launch, lines, columns, fixed=False)


def pinned(launch: Launch, line: int, column: int) -> Launch:
    """Return a launch of which every part stands at one place, where those of its text cannot be counted."""
    return _replaced(launch, line, column, fixed=True)


def _replaced(launch: Launch, lines: int, columns: int, *, fixed: bool) -> Launch:
    def at(item: _Placed) -> _Placed:
        line, column = (lines, columns) if fixed else (item.line + lines, item.column + columns)
        return msgspec.structs.replace(item, line=line, column=column)

    placed = with_each_word(at(launch), at)
    return msgspec.structs.replace(placed, settings=tuple(at(item) for item in launch.settings))
