"""Lines of a sweep, known without being parsed: each repeats another in all but its sizes."""

from __future__ import annotations

import re

from compatcheck.resolve.clusters import SIZES
from compatcheck.resolve.kinds import Kind, Row
from compatcheck.resolve.tell import Sizes

_SIZE = re.compile(rf'("({"|".join(SIZES)})"\s*:\s*)("[^"\\]*"|\d+)(?=\s*[,}}])'.encode())
_MANY = 65536
_FEW = 8

Form = tuple[bytes, ...]
"""How a line is written between its first and its last size: names of sizes, and what stands between them."""

_NOTHING: dict[bytes, dict[int, Kind]] = {}
_UNKNOWN: tuple[int, Sizes] = (-1, ())


class Sweep:
    """Remembers how lines were written around their sizes, and how sizes were written that were read before.

    A line is put together from parts that were read in full, each as part of a line of the same form. That is safe in
    one object without another inside and without an escaped character: its quotes come in pairs, a name of a size
    before a colon is a field, and its value ends at a comma or brace.
    """

    def __init__(self) -> None:
        self._first = b"\n"  # no line has one
        self._forms: dict[Form, int] = {}
        self._around: dict[bytes, dict[bytes, dict[int, Kind]]] = {}
        self._sizes: dict[bytes, tuple[int, Sizes]] = {}

    def row(self, line: bytes) -> Row | None:
        """Return what a line says; None where it has to be read."""
        start = line.find(self._first)
        for after, kinds in self._around.get(line[:start], _NOTHING).items():
            if line.endswith(after):
                form, sizes = self._sizes.get(line[start : -len(after)], _UNKNOWN)
                kind = kinds.get(form)
                return None if kind is None else (kind, sizes)
        return None

    def learn(self, line: bytes, row: Row) -> None:
        """Remember a line that was read."""
        if not isinstance(row, tuple) or b"\\" in line or line.count(b"{") != 1:
            return
        kind, sizes = row
        parts = _SIZE.split(line)
        if not kind.names or [name.decode() for name in parts[2::4]] != list(kind.names):
            return
        form = self._forms.setdefault((*parts[1::4], *parts[4:-1:4]), len(self._forms))
        before, after = parts[0], parts[-1]
        if len(self._around) > _MANY:
            self._around.clear()
        if len(self._sizes) > _MANY:
            self._sizes.clear()
        self._first = parts[1]
        ends = self._around.setdefault(before, {})
        if len(ends) > _FEW:
            ends.clear()
        ends.setdefault(after, {})[form] = kind
        self._sizes[line[len(before) : -len(after)]] = form, sizes
