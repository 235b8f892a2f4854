"""Where a finding's entry stands in the matrix, said late.

A line number changes when anything above it does. What the resolver says is therefore made with the path of the entry,
which only changes with the entry, and the line is looked up when the answer is put into a page.
"""

from __future__ import annotations

import msgspec

from compatcheck.matrix.load import LoadedMatrix


class Unplaced(LoadedMatrix):
    """A matrix that answers every question for a line with the path that was asked for, as text."""

    def __init__(self, loaded: LoadedMatrix) -> None:
        super().__init__(loaded.matrix, loaded.lines, loaded.digest)
        self._loaded = loaded

    def line(self, path: tuple[str | int, ...]) -> str | None:
        """Return the path as text that `placed` understands."""
        return msgspec.json.encode(path).decode()

    def placed(self, path: str | None) -> str | None:
        """Return `file:line` of the entry of a path that `line` gave."""
        return None if path is None else self._loaded.line(tuple(msgspec.json.decode(path)))
