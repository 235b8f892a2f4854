"""How far a cell is taken, and what each level proves."""

from __future__ import annotations

from typing import Literal

Level = Literal["import", "compile", "launch", "correct", "graph"]

LEVELS: tuple[Level, ...] = ("import", "compile", "launch", "correct", "graph")

PROVES: dict[str, str] = {
    "import": "the package is installed and has the symbol",
    "compile": "every module that the cell needs is built by nvcc, or is there already",
    "launch": "the kernel starts and ends without an error",
    "correct": "the output agrees with the reference within the tolerance, every element is written, nothing else is",
    "graph": "replaying the call from a CUDA graph gives the same output",
}


def reaches(level: str, wanted: str) -> bool:
    """Return whether `level` is at least `wanted`."""
    return LEVELS.index(level) >= LEVELS.index(wanted)
