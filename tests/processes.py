"""Which processes this one has started and not seen the end of."""

from __future__ import annotations

from pathlib import Path


def children() -> set[str]:
    """Return the ids of this process' own processes, those included that ended and were not waited for."""
    found: set[str] = set()
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            after_name = stat.read_text().rpartition(")")[2].split()
        except OSError:  # it has just gone
            continue
        if after_name[1] == Path("/proc/self").resolve().name:
            found.add(stat.parent.name)
    return found
