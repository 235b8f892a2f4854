"""Find, read, overlay and keep the matrix.

Reading YAML with positions takes longer than a whole `compatcheck check` may, so the validated result is kept as JSON in
the user's cache directory under the digest of what it was made from. A cache that cannot be read or written is ignored.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import Any

import msgspec

from compatcheck.matrix.errors import MatrixError, Problem
from compatcheck.matrix.model import Matrix

_HERE = Path(__file__).resolve().parent
_KEPT_DEPTH = 4


class Kept(msgspec.Struct):
    """What the cache holds: the matrix, and `file:line` of its entries."""

    matrix: Matrix
    lines: dict[str, str]


class LoadedMatrix:
    """A validated matrix and where each entry stands. `digest` is the SHA-256 of the files' bytes, in order."""

    def __init__(self, matrix: Matrix, lines: dict[str, str], digest: str) -> None:
        self.matrix = matrix
        self.lines = lines
        self.digest = digest
        self._resolver: Any = None

    def line(self, path: tuple[str | int, ...]) -> str | None:
        """Return `file:line` of an entry, or of the nearest entry that encloses it."""
        for depth in range(len(path), 0, -1):
            found = self.lines.get(_key(path[:depth]))
            if found:
                return found
        return None

    @property
    def resolver(self) -> Any:
        """The resolver over this matrix, made once."""
        if self._resolver is None:
            from compatcheck.resolve.resolver import Resolver

            self._resolver = Resolver(self)
        return self._resolver


def default_path() -> Path:
    """Return the packaged matrix.yaml, or the one of the source checkout this code runs from."""
    packaged = _HERE.parent / "data" / "matrix.yaml"
    return packaged if packaged.is_file() else _HERE.parent.parent / "matrix.yaml"


def load(path: Path | None = None, overlays: tuple[Path, ...] = ()) -> LoadedMatrix:
    """Return the matrix of a file (default: the packaged one) with overlays merged over it, later ones last.

    Raises `MatrixError` (a `ValueError`) with every problem found, each with file, line and column.
    """
    files = [(p, _bytes(p)) for p in (path or default_path(), *overlays)]
    digest = hashlib.sha256(b"\0".join(data for _, data in files)).hexdigest()
    kept_at = _cache_file(digest, files)
    kept = _recall(kept_at)
    if kept is None:
        kept = _build(files)
        _keep(kept_at, kept)
    return LoadedMatrix(kept.matrix, kept.lines, digest)


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise MatrixError(
            [
                Problem(
                    file=str(path), line=0, column=0, code="unreadable", message=f"cannot be read: {reason}"
                )
            ]
        ) from error


def _build(files: list[tuple[Path, bytes]]) -> Kept:
    from compatcheck.matrix.overlay import merge
    from compatcheck.matrix.validate import mismatches
    from compatcheck.matrix.yaml_reader import read_yaml

    value: Any = {}
    places: dict[tuple[str | int, ...], tuple[str, int, int]] = {}
    for path, data in files:
        name = path.name
        try:
            text = data.decode("utf-8")
        except UnicodeDecodeError as error:
            line = data.count(b"\n", 0, error.start) + 1
            problem = Problem(file=str(path), line=line, column=1, code="encoding", message="not UTF-8")
            raise MatrixError([problem]) from error
        document, at = read_yaml(text, str(path))
        if not isinstance(document, dict):
            problem = Problem(
                file=str(path),
                line=1,
                column=1,
                code="wrong-type",
                message="a matrix is a mapping of sections",
            )
            raise MatrixError([problem])
        value = merge(value, document) if value else document
        places.update(
            {where: (name if path == files[0][0] else str(path), *place) for where, place in at.items()}
        )
    wrong = mismatches(value, Matrix)
    if wrong:
        raise MatrixError([_problem(m.path, m.code, m.message, places, files[0][0]) for m in wrong])
    lines = {
        _key(where): f"{file}:{line}"
        for where, (file, line, _) in places.items()
        if 0 < len(where) <= _KEPT_DEPTH
    }
    return Kept(msgspec.convert(value, Matrix), lines)


def _problem(
    path: tuple[str | int, ...],
    code: str,
    message: str,
    places: dict[tuple[str | int, ...], tuple[str, int, int]],
    file: Path,
) -> Problem:
    for depth in range(len(path), -1, -1):
        if path[:depth] in places:
            name, line, column = places[path[:depth]]
            break
    else:
        name, line, column = str(file), 0, 0
    name = str(file) if name == file.name else name
    where = ".".join(str(part) for part in path)
    return Problem(
        file=name, line=line, column=column, code=code, message=f"{where}: {message}" if where else message
    )


def _key(path: tuple[str | int, ...]) -> str:
    return "/".join(str(part) for part in path)


# --------------------------------------------------------------------------------------------- cache


def _cache_file(digest: str, files: list[tuple[Path, bytes]]) -> Path | None:
    base = os.environ.get("COMPATCHECK_CACHE_DIR") or os.environ.get("XDG_CACHE_HOME")
    try:
        folder = Path(base) if base else Path.home() / ".cache"
        model = (_HERE / "model.py").read_bytes()
    except (OSError, RuntimeError):
        return None
    names = "\0".join(str(path) for path, _ in files).encode()
    key = hashlib.sha256(digest.encode() + model + names).hexdigest()[:32]
    return folder / "compatcheck" / f"matrix-{key}.json"


def _recall(path: Path | None) -> Kept | None:
    if path is None:
        return None
    try:
        return msgspec.json.decode(path.read_bytes(), type=Kept)
    except (OSError, msgspec.MsgspecError):
        return None


def _keep(path: Path | None, kept: Kept) -> None:
    if path is None:
        return
    temporary = path.with_suffix(f".{os.getpid()}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary.write_bytes(msgspec.json.encode(kept))
        temporary.replace(path)
    except OSError:
        temporary.unlink(missing_ok=True)
