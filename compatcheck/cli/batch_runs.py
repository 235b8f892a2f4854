"""Which lines of a batch go to which process: lines that force the same backend share most of the work of judging."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

_BACKEND = re.compile(rb'"backend"\s*:\s*"[^"]*"')
_SHORTEST = 64
"""Lines that a run has on average where it is worth taking lines apart by what they share."""
_STRIDE = 16
_UNEVEN = 1.25
"""The largest share of a process, of an even one, that doing alike lines together is worth."""
_GROUPS = 1024
"""Groups that are dealt out at most."""


class Run(NamedTuple):
    """Lines that follow one another, and the group that they are judged with; the largest group is the first."""

    start: int
    stop: int
    group: int


def runs(lines: Sequence[bytes], parts: int) -> list[Run]:
    """Return the lines as runs, in order, for so many processes.

    A group has all lines of a backend where they come in long runs and can be dealt out evenly; else there is a group,
    of one run, for each process. It is read off the text: what is read wrongly here costs time, and nothing else.
    """
    count = len(lines)
    even = [Run(count * part // parts, count * (part + 1) // parts, part) for part in range(parts)]
    if parts == 1:
        return even
    found = _alike(lines, count // _SHORTEST)
    sizes: dict[bytes, int] = {}
    for start, stop, named in found:
        sizes[named] = sizes.get(named, 0) + stop - start
    groups = sorted(sizes, key=lambda name: -sizes[name])
    loads = [0] * parts
    for named in groups:
        loads[loads.index(min(loads))] += sizes[named]
    if not found or len(groups) > _GROUPS or max(loads) > _UNEVEN * count / parts:
        return even
    place = {named: at for at, named in enumerate(groups)}
    return [Run(start, stop, place[named]) for start, stop, named in found]


def _alike(lines: Sequence[bytes], most: int) -> list[tuple[int, int, bytes]]:
    """Return runs of lines that name the same backend, with its name; none where there are more than `most`.

    Only every so many lines are looked at, and all where the name has changed since.
    """
    found: list[tuple[int, int, bytes]] = []
    start, named = 0, _backend(lines[0])
    at = 0
    while at < len(lines):
        if _names(lines[min(at + _STRIDE, len(lines) - 1)], named):
            at += _STRIDE
            continue
        for at in range(at, min(at + _STRIDE + 1, len(lines))):  # noqa: B020  # `at` goes on from where this ends
            if not _names(lines[at], named):
                found.append((start, at, named))
                start, named = at, _backend(lines[at])
        if len(found) >= most:
            return []
    return [*found, (start, len(lines), named)]


def _backend(line: bytes) -> bytes:
    match = _BACKEND.search(line)
    return match[0] if match else b""


def _names(line: bytes, backend: bytes) -> bool:
    return backend in line if backend else b'"backend"' not in line
