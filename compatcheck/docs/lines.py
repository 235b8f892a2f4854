"""Where a finding's entry stands in the matrix, said late.

A line number changes when anything above it does. What the resolver says is therefore made with the path of the entry,
which only changes with the entry, and the line is looked up when the answer is put into a page.
"""

from __future__ import annotations

import os
from pathlib import Path

import msgspec

from compatcheck.matrix.load import LoadedMatrix


class Shown(LoadedMatrix):
    """A matrix whose lines name files as pages may, which is without a machine's folders.

    A relative name that leads downwards stays (parts of a matrix are named from it, overlays as given). Any other file
    is named from beside the output folder where it lies there, else by its own name alone.
    """

    def __init__(self, loaded: LoadedMatrix, output: Path) -> None:
        super().__init__(loaded.matrix, loaded.lines, loaded.digest, loaded.compiled)
        self._home = os.path.dirname(os.path.abspath(output))
        self._names: dict[str, str] = {}

    def line(self, path: tuple[str | int, ...]) -> str | None:
        """Return `file:line` of an entry, or of the nearest entry that encloses it."""
        found = super().line(path)
        if found is None:
            return None
        file, _, number = found.rpartition(":")
        return f"{self.name(file)}:{number}"

    def files(self) -> list[str]:
        """Return the names of all files, as shown, in the order in which they were read."""
        return [self.name(file) for file in dict.fromkeys(line.rpartition(":")[0] for line in self.lines.values())]

    def name(self, file: str) -> str:
        """Return a file's name as pages show it."""
        known = self._names.get(file)
        if known is None:
            known = self._names[file] = self._named(file)
        return known

    def _named(self, file: str) -> str:
        short = os.path.normpath(file)
        if os.path.isabs(short) or short.startswith(os.pardir):
            path = os.path.abspath(short)
            inside = path.startswith(self._home.rstrip(os.sep) + os.sep)
            short = os.path.relpath(path, self._home) if inside else os.path.basename(path)
        return Path(short).as_posix()


class Unplaced(LoadedMatrix):
    """A matrix that answers every question for a line with the path that was asked for, as text."""

    def __init__(self, loaded: LoadedMatrix) -> None:
        super().__init__(loaded.matrix, loaded.lines, loaded.digest, loaded.compiled)
        self._loaded = loaded

    def line(self, path: tuple[str | int, ...]) -> str | None:
        """Return the path as text that `placed` understands."""
        return msgspec.json.encode(path).decode()

    def placed(self, path: str | None) -> str | None:
        """Return `file:line` of the entry of a path that `line` gave."""
        return None if path is None else self._loaded.line(tuple(msgspec.json.decode(path)))
