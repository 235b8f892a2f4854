"""What can be wrong with a matrix file, and where."""

from __future__ import annotations

from typing import Literal

import msgspec

from compatcheck.printable import printable


class Problem(msgspec.Struct, frozen=True, kw_only=True):
    """One thing wrong at one place. Lines and columns count from 1; 0 where the place is the whole file."""

    file: str
    line: int
    column: int
    code: str
    message: str
    severity: Literal["error", "warning"] = "error"
    """A warning asks for a look; only an error makes the matrix unusable or untrue."""

    def __str__(self) -> str:
        said = "warning: " if self.severity == "warning" else ""
        return printable(f"{self.file}:{self.line}:{self.column}: {said}{self.message} [{self.code}]")


class MatrixError(ValueError):
    """A matrix that cannot be used; `problems` lists everything that was found."""

    def __init__(self, problems: list[Problem]) -> None:
        super().__init__("\n".join(str(problem) for problem in problems))
        self.problems = problems
