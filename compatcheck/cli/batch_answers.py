"""Answers of a part of a batch, as one process hands them to another: each text once, and its number for every line."""

from __future__ import annotations

import mmap
from array import array
from collections.abc import Iterable, Sequence
from typing import BinaryIO, NamedTuple

import msgspec

from compatcheck.resolve.verdict import Verdict, VerdictName

KEPT = 32768
"""Verdicts of which it is known where they were written."""
AT_ONCE = 256
"""Answers written in one go."""


class Told(NamedTuple):
    """Where the texts are that a process wrote, and which of them answers each line."""

    seen: set[VerdictName]
    ends: array[int]
    """The end of each text in the file, in bytes, after a zero."""
    lines: array[int]
    """The number of the text of each line."""


class Answers:
    """Writes verdicts as JSON lines to a file, equal ones once: the resolver gives one object for equal answers."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._told = Told(set(), array("Q", [0]), array("L"))
        self._known: dict[int, tuple[Verdict, int]] = {}

    def write(self, verdicts: Iterable[Verdict]) -> None:
        """Write the answers of lines, in their order."""
        seen, ends, lines = self._told
        known, encode = self._known, msgspec.json.Encoder().encode
        for verdict in verdicts:
            one = known.get(id(verdict))
            if one is None:
                seen.add(verdict.verdict)
                if len(known) > KEPT:
                    known.clear()
                text = encode(verdict)
                self._file.write(text + b"\n")
                # The verdict is kept with its number: an id is only unique among objects that live.
                one = known[id(verdict)] = (verdict, len(ends) - 1)
                ends.append(ends[-1] + len(text) + 1)
            lines.append(one[1])

    def told(self) -> Told:
        """Return what is known of the answers once they are all in the file."""
        self._file.flush()
        return self._told


def join(counts: Sequence[int], parts: Iterable[tuple[BinaryIO, Told, Sequence[int]]], out: BinaryIO) -> None:
    """Write answers in the order of their lines.

    `counts` has the number of lines of each run; a part has the places of the runs that it answers, in its own order.
    """
    sources: dict[int, tuple[memoryview, array[int], array[int]]] = {}
    for file, (_, ends, lines), runs in parts:
        whole = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) if len(ends) > 1 else b"")
        start = 0
        for at in runs:
            sources[at] = whole, ends, lines[start : start + counts[at]]
            start += counts[at]
    for at in range(len(counts)):
        whole, ends, lines = sources[at]
        for first in range(0, len(lines), AT_ONCE):
            some = lines[first : first + AT_ONCE]
            out.write(b"".join([whole[ends[number] : ends[number + 1]] for number in some]))
