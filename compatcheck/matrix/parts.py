"""A matrix in several files: `include: [matrix/kernels.yaml, ...]` at the top of the first one.

The line is found without reading YAML, so that a cached matrix costs no parser. A part is looked for beside the file
that includes it, then beside the packaged matrix, so that a copy of matrix.yaml alone is still a whole matrix.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from compatcheck.matrix.errors import MatrixError, Problem
from compatcheck.matrix.files import read_bytes

if TYPE_CHECKING:
    from pathlib import Path

_INCLUDE = re.compile(rb"^include: *\[([^\]\n]*)\][ \t]*(?:#[^\n]*)?\r?$", re.MULTILINE)
_NAME = re.compile(r"^[A-Za-z0-9_-]+(/[A-Za-z0-9_-]+)*\.yaml$")


def with_parts(path: Path, packaged: Path) -> list[tuple[Path, bytes]]:
    """Return a file and its parts, in order, each with its bytes. Raises `MatrixError` as `named_parts` does."""
    from pathlib import Path

    return [(Path(name), data) for name, data in named_parts(str(path), str(packaged))]


def named_parts(path: str, packaged: str) -> list[tuple[str, bytes]]:
    """Return the names of a file and its parts, in order, each with its bytes.

    A cold check reads them, and does without pathlib, whose import takes a twentieth of it.

    Raises `MatrixError` with every part that cannot be read, or whose name is not a plain relative one: nothing outside
    the two folders is ever read.
    """
    data = read_bytes(path)
    found = _INCLUDE.search(data)
    if found is None:
        return [(path, data)]
    line = data.count(b"\n", 0, found.start()) + 1
    files = [(path, data)]
    problems: list[Problem] = []
    for name in found[1].decode("utf-8", "replace").split(","):
        written = name.strip().strip("\"'")
        if not _NAME.match(written):
            message = f"include: {written!r} is not a plain relative name such as matrix/kernels.yaml"
            problems.append(Problem(file=path, line=line, column=1, code="include", message=message))
            continue
        beside, fallback = (os.path.join(os.path.dirname(file), *written.split("/")) for file in (path, packaged))
        try:
            part = beside if os.path.isfile(beside) else fallback
            files.append((part, read_bytes(part)))
        except MatrixError as error:
            reason = error.problems[0].message
            message = f"include: {written} {reason}; looked beside this file and beside the packaged matrix"
            problems.append(Problem(file=path, line=line, column=1, code="include", message=message))
    if problems:
        raise MatrixError(problems)
    return files


def included(document: object, first: Path, files: list[Path]) -> frozenset[Path]:
    """Return which of the files read are parts of the first one (and not overlays over it)."""
    names = document.get("include") if isinstance(document, dict) else None
    if not isinstance(names, list):
        return frozenset()
    endings = tuple(str(name) for name in names)
    return frozenset(path for path in files if path != first and path.as_posix().endswith(endings) and endings)
