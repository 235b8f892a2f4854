"""Which of some files is a matrix, and whether the working directory has one of its own."""

from __future__ import annotations

import re
from pathlib import Path

from compatcheck.matrix.errors import MatrixError
from compatcheck.matrix.files import read_bytes

_SCHEMA = re.compile(rb"^(\xef\xbb\xbf)?schema:", re.MULTILINE)


def own_matrix() -> Path | None:
    """Return the matrix.yaml of the working directory, where it is one of ours; the packaged one is used otherwise."""
    path = Path("matrix.yaml")
    return path if states_schema(path) else None


def states_schema(path: Path) -> bool:
    """Return whether a file states `schema`, as a matrix does and an overlay need not."""
    if not path.is_file():  # a pipe can only be read once, and a device never ends
        return False
    try:
        return _SCHEMA.search(read_bytes(path)) is not None
    except MatrixError:  # loading it says so
        return False


def matrix_first(files: list[Path]) -> list[Path]:
    """Return files with the matrix before its overlays: pre-commit hands them over by name.

    Where none is a matrix, they are overlays of the working directory's own one, if it has one.
    """
    if not files or states_schema(files[0]):
        return files
    matrix = next((path for path in files if states_schema(path)), None) or own_matrix()
    return files if matrix is None else [matrix, *[path for path in files if path != matrix]]
