"""Find, read, overlay and keep the matrix.

Reading YAML with positions takes longer than a whole `compatcheck check` may, so the validated result is kept as JSON
in the user's cache directory under the digest of what it was made from. A cache that cannot be read or written is
ignored.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from compatcheck.caches import cache_folder
from compatcheck.matrix.errors import MatrixError, Problem
from compatcheck.matrix.files import read_bytes
from compatcheck.matrix.model import Matrix
from compatcheck.matrix.overlay import NO_FACTS
from compatcheck.matrix.parts import named_parts

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from compatcheck.matrix.documents import MergedDocument
    from compatcheck.matrix.validate import Mismatch
    from compatcheck.resolve.conditions import CompiledEntries

_HERE = os.path.dirname(os.path.realpath(__file__))
_DECIDING = (
    "model.py",
    "records.py",
    "linear_model.py",
    "yaml_reader.py",
    "documents.py",
    "shorthand.py",
    "overlay.py",
    "load.py",
)
"""Files of this package that decide what the same YAML becomes: a change in one must not find an older result."""
_KEPT_DEPTH = 4


Checks = Literal["rules", "everything"]
"""What may be found out in a process of its own: all but whether the matrix compiles, or that too."""


class Kept(msgspec.Struct):
    """What the cache holds: the matrix, and `file:line` of its entries."""

    matrix: Matrix
    lines: dict[str, str]


class LoadedMatrix:
    """A validated matrix and where each entry stands. `digest` is the SHA-256 of the files' bytes, in order.

    `compiled` is what was compiled of it to see that it can be asked; whoever asks it goes on from there.
    """

    def __init__(
        self, matrix: Matrix, lines: dict[str, str], digest: str, compiled: CompiledEntries | None = None
    ) -> None:
        self.matrix = matrix
        self.compiled: CompiledEntries = {} if compiled is None else compiled
        self.lines = lines
        self.digest = digest
        self._resolver: Any = None
        self._pending: Callable[[], None] | None = None

    @classmethod
    def unchecked(
        cls, matrix: Matrix, lines: dict[str, str], digest: str, compiled: CompiledEntries, check: Callable[[], None]
    ) -> LoadedMatrix:
        """Return a matrix of which `check` will tell whether it can be used."""
        loaded = cls(matrix, lines, digest, compiled)
        loaded._pending = check
        return loaded

    def checked(self) -> None:
        """Wait until it is known that the matrix can be used: at once, but for one that was loaded `aside`.

        Raises `MatrixError`. What was made from it before is of no use then.
        """
        if self._pending is not None:
            self._pending()
            self._pending = None

    def line(self, path: tuple[str | int, ...]) -> str | None:
        """Return `file:line` of an entry, or of the nearest entry that encloses it."""
        for depth in range(len(path), 0, -1):
            found = self.lines.get(_key(path[:depth]))
            if found:
                return found
        return None

    @property
    def resolver(self) -> Any:
        """The resolver over this matrix, made once. Raises `MatrixError` as `checked` does."""
        self.checked()
        if self._resolver is None:
            from compatcheck.resolve.resolver import Resolver

            self._resolver = Resolver(self)
        return self._resolver


def default_path() -> Path:
    """Return the packaged matrix.yaml, or the one of the source checkout this code runs from."""
    from pathlib import Path

    return Path(_default())


def _default() -> str:
    package = os.path.dirname(_HERE)
    packaged = os.path.join(package, "data", "matrix.yaml")
    return packaged if os.path.isfile(packaged) else os.path.join(os.path.dirname(package), "matrix.yaml")


def load(path: Path | None = None, overlays: tuple[Path, ...] = (), *, aside: Checks | None = None) -> LoadedMatrix:
    """Return the matrix of a file (default: the packaged one) with overlays merged over it, later ones last.

    With `aside` a matrix that is met for the first time may still be checked in a process of its own when this returns:
    `LoadedMatrix.checked` must be called before anything that was made from it is used. With "everything" it may not
    even compile, and asking it may raise any exception; `checked` says what is wrong.

    Raises `MatrixError` (a `ValueError`) with every problem found, each with file, line and column.
    """
    packaged = _default()
    files = named_parts(str(path or packaged), packaged) + [(str(p), read_bytes(p)) for p in overlays]
    digest = hashlib.sha256(b"\0".join(data for _, data in files)).hexdigest()
    kept_at = _cache_file(digest, files)
    kept = _recall(kept_at)
    compiled: CompiledEntries = {}
    if kept is not None:
        return LoadedMatrix(kept.matrix, kept.lines, digest, compiled)
    made, document = _build(files)
    first = files[0][0]
    if path is None and not overlays:
        _keep(kept_at, made)
        return LoadedMatrix(made.matrix, made.lines, digest, compiled)

    from compatcheck.matrix.lint.run import Checking

    checking = Checking(document, first, made.matrix, compiled)

    def check() -> None:
        unusable = checking.problems()
        if unusable:
            raise MatrixError(unusable)
        _keep(kept_at, made)

    if aside is not None and checking.begin(everything=aside == "everything"):
        return LoadedMatrix.unchecked(made.matrix, made.lines, digest, compiled, check)
    check()
    return LoadedMatrix(made.matrix, made.lines, digest, compiled)


def _build(named: list[tuple[str, bytes]]) -> tuple[Kept, MergedDocument]:
    from pathlib import Path

    from compatcheck.matrix.documents import read_files

    files = [(Path(name), data) for name, data in named]
    document = read_files(files)
    if document.problems:
        raise MatrixError(document.problems)
    try:
        matrix = msgspec.convert(document.value, Matrix)
    except msgspec.ValidationError:  # which stops at the first place
        from compatcheck.matrix.validate import mismatches

        wrong = mismatches(document.value, Matrix)
        raise MatrixError([_problem(m, document, files[0][0]) for m in wrong]) from None
    shown = {file: _shown(file, files[0][0]) for file in {place[0] for place in document.places.values()}}
    lines = {
        _key(where): f"{shown[file]}:{line}"
        for where, (file, line, _) in document.places.items()
        if 0 < len(where) <= _KEPT_DEPTH or _of_backend(where)
    }
    return Kept(matrix, lines), document


def _of_backend(where: tuple[str | int, ...]) -> bool:
    """Return whether a path leads to a fact or a rule of a backend, or of one of its changes."""
    inside = where[4:]
    if len(where) <= _KEPT_DEPTH or where[2] != "backends" or inside[0] in NO_FACTS - {"changes"}:
        return False
    inside = inside[2:] if inside[0] == "changes" and len(inside) > 2 else inside
    return len(inside) == 1 or (len(inside) == 2 and str(inside[0]).endswith("_rules"))


def _shown(file: str, first: Path) -> str:
    """Return a file's name as findings show it: short for the matrix and its parts, as given for overlays."""
    home = f"{first.parent}{os.sep}"
    return (
        file.removeprefix(home)
        if first.name in ("matrix.yaml",) and file.startswith(home)
        else first.name
        if file == str(first)
        else file
    )


def _problem(mismatch: Mismatch, document: MergedDocument, file: Path) -> Problem:
    name, line, column = document.place(mismatch.path) or (str(file), 0, 0)
    where = ".".join(str(part) for part in mismatch.path)
    message = f"{where}: {mismatch.message}" if where else mismatch.message
    return Problem(file=name, line=line, column=column, code=mismatch.code, message=message)


def _key(path: tuple[str | int, ...]) -> str:
    return "/".join(map(str, path))


# --------------------------------------------------------------------------------------------- cache


def _cache_file(digest: str, files: list[tuple[str, bytes]]) -> str | None:
    try:
        folder = cache_folder()
        model = b"".join(read_bytes(os.path.join(_HERE, name)) for name in _DECIDING)
    except (OSError, MatrixError):
        return None
    names = "\0".join(name for name, _ in files).encode("utf-8", "surrogateescape")
    key = hashlib.sha256(digest.encode() + model + names).hexdigest()[:32]
    return os.path.join(folder, f"matrix-{key}.json")


def _recall(path: str | None) -> Kept | None:
    if path is None:
        return None
    try:
        with open(path, "rb") as file:
            return msgspec.json.decode(file.read(), type=Kept)
    except (OSError, ValueError, msgspec.MsgspecError):  # ValueError: a NUL character in the name
        return None


def _keep(path: str | None, kept: Kept) -> None:
    if path is None:
        return
    temporary = f"{path}.{os.getpid()}.tmp"
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(temporary, "wb") as file:
            file.write(msgspec.json.encode(kept))
        os.replace(temporary, path)
    except BaseException as error:
        with contextlib.suppress(OSError, ValueError):
            os.unlink(temporary)
        if not isinstance(error, OSError):  # Ctrl-C: leave nothing, and stop
            raise
