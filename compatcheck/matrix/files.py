"""Reading a file that someone names: whole, bounded, with a clear error."""

from __future__ import annotations

import os

from compatcheck.matrix.errors import MatrixError, Problem

MAX_BYTES = 8 * 1024 * 1024
"""A matrix is some hundred kilobytes; what is larger is something else, such as a device."""


def read_bytes(path: str | os.PathLike[str]) -> bytes:
    """Return a file's bytes. Raises `MatrixError` where it cannot be read, or is larger than a matrix may be."""
    try:
        with open(path, "rb") as file:
            data = file.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:  # ValueError: a NUL character in the name
        reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
        raise MatrixError([_problem(path, "unreadable", f"cannot be read: {reason}")]) from error
    if len(data) > MAX_BYTES:
        raise MatrixError([_problem(path, "too-large", f"larger than {MAX_BYTES} bytes")])
    return data


def _problem(path: str | os.PathLike[str], code: str, message: str) -> Problem:
    return Problem(file=os.fspath(path), line=0, column=0, code=code, message=message)
