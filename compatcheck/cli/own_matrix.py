"""Which of some files is a matrix, and whether the working directory has one of its own."""

from __future__ import annotations

import re
from pathlib import Path

from compatcheck.matrix.errors import MatrixError
from compatcheck.matrix.files import read_bytes
from compatcheck.matrix.parts import named_parts

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

    A part of a matrix stands for the matrix that includes it. Where none is a matrix, they are overlays of the working
    directory's own one, if it has one.
    """
    files = list(dict.fromkeys(_whole(path) for path in files))
    if not files or states_schema(files[0]):
        return files
    matrix = next((path for path in files if states_schema(path)), None) or own_matrix()
    return files if matrix is None else [matrix, *[path for path in files if path != matrix]]


def _whole(path: Path) -> Path:
    """Return the matrix.yaml above a file's folder where it includes the file, else the file."""
    matrix = path.parent.parent / "matrix.yaml"
    if states_schema(path) or not states_schema(matrix):
        return path
    try:
        parts = [Path(name) for name, _ in named_parts(str(matrix), str(matrix))]
    except MatrixError:  # linting it says so
        return matrix
    return matrix if any(part.samefile(path) for part in parts if path.is_file()) else path
