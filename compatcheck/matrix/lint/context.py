"""What a lint rule works on: the document as it was written, entry by entry, with the place of each.

Each entry is converted to its record by itself, so that one broken entry does not hide what is wrong with the others.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal, NamedTuple, TypeVar

import msgspec
from msgspec import inspect as types

from compatcheck.matrix.documents import MergedDocument
from compatcheck.matrix.errors import Problem
from compatcheck.matrix.model import Matrix
from compatcheck.matrix.yaml_reader import Path

T = TypeVar("T")
Severity = Literal["error", "warning"]


class Text(NamedTuple):
    """A text, and where it stands."""

    path: Path
    value: str


class Context:
    """A document under lint."""

    def __init__(self, document: MergedDocument, file: str) -> None:
        self.value = document.value
        self.document = document
        self._file = file
        self._entries: dict[type, list[tuple[Path, dict[str, Any]]]] = {}
        self._converted: dict[type, list[tuple[Path, Any]]] = {}
        self.conditions: list[tuple[Path, dict[str, Any]]] = []
        """Every condition that stands as such: `when`, flags, `missing_dependency`."""
        self.kept: dict[Path, object] = {}
        """What rules compute once for a part of the document."""
        self._walk(self.value, types.type_info(Matrix), ())

    # ---------------------------------------------------------------------------------------- asking

    def records(self, model: type[T]) -> list[tuple[Path, T]]:
        """Return every well-formed entry of exactly this type, with its path."""
        if model not in self._converted:
            found: list[tuple[Path, Any]] = []
            for path, entry in self._entries.get(model, ()):
                try:
                    found.append((path, msgspec.convert(entry, model)))
                except msgspec.ValidationError:
                    continue
            self._converted[model] = found
        return self._converted[model]

    def names_of_list(self, *path: str) -> list[str]:
        """Return the texts of a list, well-formed or not; none where it is no list."""
        try:
            value = self.raw(path)
        except (KeyError, TypeError, IndexError):
            return []
        return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []

    def names(self, *path: str) -> list[str]:
        """Return the keys of a mapping in the order they are written, well-formed or not."""
        value: Any = self.value
        for key in path:
            value = value.get(key) if isinstance(value, dict) else None
        return list(value) if isinstance(value, dict) else []

    def raw(self, path: Path) -> Any:
        """Return the plain value at a path."""
        value: Any = self.value
        for key in path:
            value = value[key]
        return value

    def texts(self) -> Iterator[Text]:
        """Yield every text of the document, keys included."""
        yield from _texts(self.value, ())

    def file_of(self, path: Path) -> str:
        """Return the file that an entry stands in."""
        place = self.document.place(path)
        return place[0] if place else self._file

    def problem(self, path: Path, code: str, message: str, severity: Severity = "error") -> Problem:
        """Return a problem at an entry, or at the nearest entry that encloses it."""
        file, line, column = self.document.place(path) or (self._file, 0, 0)
        where = ".".join(str(part) for part in path)
        return Problem(
            file=file,
            line=line,
            column=column,
            code=code,
            message=f"{where}: {message}" if where else message,
            severity=severity,
        )

    # ------------------------------------------------------------------------------------ collecting

    def _walk(self, value: Any, expected: types.Type, path: Path) -> None:
        if isinstance(expected, types.UnionType):
            for option in expected.types:
                self._walk(value, option, path)
        elif isinstance(expected, types.StructType) and isinstance(value, dict):
            self._entries.setdefault(expected.cls, []).append((path, value))
            for field in expected.fields:
                if field.encode_name in value:
                    self._walk(value[field.encode_name], field.type, (*path, field.encode_name))
        elif isinstance(expected, types.DictType) and isinstance(value, dict):
            if isinstance(expected.value_type, types.AnyType):
                self.conditions.append((path, value))
            else:
                for key, item in value.items():
                    self._walk(item, expected.value_type, (*path, key))
        elif isinstance(expected, types.ListType) and isinstance(value, list):
            for index, item in enumerate(value):
                self._walk(item, expected.item_type, (*path, index))


def _texts(value: Any, path: Path) -> Iterator[Text]:
    if isinstance(value, str):
        yield Text(path, value)
    elif isinstance(value, dict):
        for key, item in value.items():
            yield Text((*path, key), key)
            yield from _texts(item, (*path, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _texts(item, (*path, index))
