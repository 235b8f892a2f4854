"""A matrix file and its overlays as one document of plain values, with the place of every entry."""

from __future__ import annotations

from pathlib import Path as FilePath
from typing import Any, NamedTuple

import msgspec

from compatcheck.matrix.errors import MatrixError, Problem
from compatcheck.matrix.model import Engine
from compatcheck.matrix.overlay import merge, merge_places
from compatcheck.matrix.parts import included
from compatcheck.matrix.shorthand import expand
from compatcheck.matrix.yaml_reader import Document, Path, read_document

FilePlace = tuple[str, int, int]


class MergedDocument(NamedTuple):
    """The values of all files, and where each stands: file, line, column."""

    value: dict[str, Any]
    places: dict[Path, FilePlace]
    broken: frozenset[Path]
    problems: list[Problem]

    def place(self, path: Path) -> FilePlace | None:
        """Return the place of an entry, or of the nearest that encloses it; None where there is none at all."""
        for depth in range(len(path), -1, -1):
            if path[:depth] in self.places:
                return self.places[path[:depth]]
        return None


def read_files(files: list[tuple[FilePath, bytes]]) -> MergedDocument:
    """Return the merged document of a matrix and its overlays, in order.

    Raises `MatrixError` with every problem of every file if one of them is not a YAML mapping in UTF-8.
    """
    documents: list[tuple[FilePath, Document]] = []
    problems: list[Problem] = []
    unusable = False
    for path, data in files:
        try:
            document = _read(path, data)
        except MatrixError as error:
            problems += error.problems
            unusable = True
        else:
            problems += document.problems
            documents.append((path, document))
    if unusable:
        raise MatrixError(problems)
    value: Any = {}
    places: dict[Path, FilePlace] = {}
    parts = (
        included(documents[0][1].value, documents[0][0], [path for path, _ in documents]) if documents else frozenset()
    )
    for path, document in documents:
        if path in parts:
            problems += _repeated(value, document, path, places)
        elif value:
            document, strange = _without_strangers(value, document, path)
            problems += strange
        name = str(path)
        at = {where: (name, line, column) for where, (line, column) in document.places.items()}
        places = merge_places(value, document.value, places, at) if value else at
        value = merge(value, document.value) if value else document.value
    broken = frozenset(where for _, document in documents for where in document.broken)
    return MergedDocument(value, places, broken, problems)


def _without_strangers(value: dict[str, Any], document: Document, path: FilePath) -> tuple[Document, list[Problem]]:
    """Return an overlay without engines of which it states a part and the matrix nothing, and an error for each.

    A new engine may be added as a whole; of a part of one, and of rules that then ask for it, nothing sensible is said.
    """
    known, named = value.get("engines"), document.value.get("engines")
    if not isinstance(known, dict) or not isinstance(named, dict):
        return document, []
    needed = [field.name for field in msgspec.structs.fields(Engine) if field.required]
    strange = [
        name
        for name, entry in named.items()
        if name not in known and not (isinstance(entry, dict) and all(key in entry for key in needed))
    ]
    kept = {name: entry for name, entry in named.items() if name not in strange}
    problems = [
        _problem(
            path,
            *document.places.get(("engines", name), (0, 0)),
            "unknown-engine",
            f"engines.{name}: the matrix has no engine {name!r}; known: {', '.join(map(str, known))}. Write the name "
            f"of the engine that is changed; a new one has to state {', '.join(needed)}",
        )
        for name in strange
    ]
    return document._replace(value=document.value | {"engines": kept}), problems


def _repeated(
    value: dict[str, Any], document: Document, path: FilePath, places: dict[Path, FilePlace]
) -> list[Problem]:
    """Return an error for everything that a part says again: parts add, only overlays replace."""
    problems: list[Problem] = []

    def walk(before: Any, now: Any, where: Path) -> None:
        if isinstance(before, dict) and isinstance(now, dict):
            for key in now:
                if key in before:
                    walk(before[key], now[key], (*where, key))
            return
        file, line, _ = places.get(where, (str(path), 0, 0))
        at = document.places.get(where, (0, 0))
        message = f"{'.'.join(str(part) for part in where)} is already said at {file}:{line}"
        problems.append(_problem(path, *at, "duplicate-key", message))

    walk(value, document.value, ())
    return problems


def _read(path: FilePath, data: bytes) -> Document:
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        column = error.start - data.rfind(b"\n", 0, error.start)
        raise MatrixError([_problem(path, line, column, "encoding", "not UTF-8; save the file as UTF-8")]) from error
    document = read_document(text, str(path))
    if () in document.broken:
        raise MatrixError(document.problems)
    if not isinstance(document.value, dict):
        raise MatrixError([_problem(path, 1, 1, "not-a-mapping", "a matrix is a mapping of sections")])
    return document._replace(value=expand(document.value))


def _problem(path: FilePath, line: int, column: int, code: str, message: str) -> Problem:
    return Problem(file=str(path), line=line, column=column, code=code, message=message)
