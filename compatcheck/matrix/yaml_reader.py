"""YAML to plain values with the place of each, strictly: what PyYAML would silently change is an error here.

Duplicate keys, anchors and aliases, tags, and plain scalars that YAML 1.1 turns into something unexpected (`no` into
false, `12:30` into 750) are refused with line and column. Nothing is constructed from a tag.
"""

from __future__ import annotations

import math
import re
from functools import lru_cache
from typing import Any, ClassVar, NamedTuple

from compatcheck.matrix.errors import MatrixError, Problem
from compatcheck.matrix.files import MAX_BYTES

Path = tuple[str | int, ...]
Place = tuple[int, int]

MAX_DEPTH = 64
_TAG = "tag:yaml.org,2002:"
_TEXT = f"{_TAG}str"
_SCALAR_TAGS = frozenset({"str", "int", "float", "bool", "null", "timestamp"})
_MAX_DIGITS = 18
_INT = re.compile(r"^[-+]?(0|[1-9][0-9]*)$")
_FLOAT = re.compile(r"^[-+]?[0-9]+\.[0-9]+([eE][-+]?[0-9]+)?$")


class Document(NamedTuple):
    """What a YAML text says, and where."""

    value: Any
    places: dict[Path, Place]
    """Line and column, from 1, of every key and list item."""
    problems: list[Problem]
    broken: frozenset[Path]
    """Places whose value was refused and stands as None, or as the first of two."""


def read_yaml(text: str, file: str) -> tuple[Any, dict[Path, Place]]:
    """Return the document's values and the place (line, column, from 1) of every key and list item.

    Raises `MatrixError` with all problems that can be found without guessing.
    """
    document = read_document(text, file)
    if document.problems:
        raise MatrixError(document.problems)
    return document.value, document.places


def read_document(text: str, file: str) -> Document:
    """Return what can be read, with everything that is refused as a problem. Raises `MatrixError` if it is not YAML."""
    import yaml

    if len(text) > MAX_BYTES:
        raise MatrixError(
            [Problem(file=file, line=0, column=0, code="too-large", message=f"larger than {MAX_BYTES} bytes")]
        )
    loader = _loader()
    try:
        node = yaml.compose(text, Loader=loader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line, column = (mark.line + 1, mark.column + 1) if mark else (0, 0)
        message = " ".join(part for part in (error.context, error.problem) if part)
        raise MatrixError(
            [Problem(file=file, line=line, column=column, code="yaml-syntax", message=message)]
        ) from error
    except (yaml.YAMLError, RecursionError, UnicodeError) as error:
        line, column = _unprintable(text, yaml.reader.Reader.NON_PRINTABLE)
        message = f"not readable as YAML: {error}".splitlines()[0]
        raise MatrixError(
            [Problem(file=file, line=line, column=column, code="yaml-syntax", message=message)]
        ) from error
    reader = _Reader(file)
    value = None if node is None else reader.build(node, (), 0)
    if value is None and not reader.problems:
        value = {}
        reader.places.setdefault((), (1, 1))
    return Document(value, reader.places, reader.problems, frozenset(reader.broken))


@lru_cache(maxsize=1)
def _loader() -> Any:
    """Return a loader that finds out once what a plain text is: the same names and values come again and again."""
    import yaml

    safe: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

    class Loader(safe):  # type: ignore[misc]
        known: ClassVar[dict[Any, str]] = {}

        def resolve(self, kind: Any, value: Any, implicit: Any) -> Any:
            if kind is not yaml.ScalarNode:
                return super().resolve(kind, value, implicit)
            tag = self.known.get((value, implicit))
            if tag is None:
                tag = self.known[value, implicit] = super().resolve(kind, value, implicit)
            return tag

    return Loader


def _unprintable(text: str, pattern: re.Pattern[str]) -> Place:
    """Return the place of the first character that YAML does not allow, or (0, 0)."""
    found = pattern.search(text)
    if found is None:
        return 0, 0
    return text.count("\n", 0, found.start()) + 1, found.start() - text.rfind("\n", 0, found.start())


class _Reader:
    def __init__(self, file: str) -> None:
        self.file = file
        self.places: dict[Path, Place] = {}
        self.problems: list[Problem] = []
        self.broken: set[Path] = set()
        self._seen: set[int] = set()

    def build(self, node: Any, path: Path, depth: int) -> Any:
        mark = node.start_mark
        self.places.setdefault(path, (mark.line + 1, mark.column + 1))
        if self._is_text(node):
            return node.value
        if id(node) in self._seen:
            return self._refuse(
                node, path, "yaml-alias", "anchors and aliases are not used in matrix files; write the value again"
            )
        self._seen.add(id(node))
        kind = node.id
        if kind == "scalar":
            return self._scalar(node, path)
        if depth > MAX_DEPTH:
            return self._refuse(node, path, "too-deep", f"nested deeper than {MAX_DEPTH} levels")
        if not node.tag.startswith(_TAG) or node.tag.removeprefix(_TAG) not in ("map", "seq"):
            return self._refuse(node, path, "yaml-tag", _no_tag(node.tag))
        if kind == "sequence":
            return [self.build(item, (*path, index), depth + 1) for index, item in enumerate(node.value)]
        return self._mapping(node, path, depth)

    def _mapping(self, node: Any, path: Path, depth: int) -> dict[str, Any]:
        result: dict[str, Any] = {}
        for key_node, value_node in node.value:
            plain = key_node.value != "<<" and self._is_text(key_node)
            key = key_node.value if plain else self._mapping_key(key_node, path)
            if key is None:
                continue
            inner = (*path, key)
            if key in result:
                first = self.places[inner]
                message = f"key {key!r} is already at line {first[0]}, column {first[1]}"
                self._refuse(key_node, inner, "duplicate-key", message)
                continue
            mark = key_node.start_mark
            self.places[inner] = (mark.line + 1, mark.column + 1)
            plain = self._is_text(value_node)
            result[key] = value_node.value if plain else self.build(value_node, inner, depth + 1)
        return result

    def _is_text(self, node: Any) -> bool:
        """Return whether a node is text, met for the first time: most are, and there is nothing to refuse then."""
        if node.id != "scalar" or node.tag != _TEXT or id(node) in self._seen:
            return False
        self._seen.add(id(node))
        return True

    def _mapping_key(self, node: Any, path: Path) -> str | None:
        refusal = self._key_refusal(node)
        if refusal is not None:
            self._problem(node, *refusal)
            if path:
                self.broken.add(path)
            return None
        self._seen.add(id(node))
        key: str = node.value
        return key

    def _key_refusal(self, node: Any) -> tuple[str, str] | None:
        if node.id != "scalar":
            return "yaml-key", "keys are plain names"
        if node.value == "<<":
            return "yaml-alias", "merge keys are not used in matrix files"
        if id(node) in self._seen:
            return "yaml-alias", "anchors and aliases are not used in matrix files"
        if not node.tag.startswith(_TAG) or node.tag.removeprefix(_TAG) not in _SCALAR_TAGS:
            return "yaml-tag", _no_tag(node.tag)
        return None

    def _scalar(self, node: Any, path: Path) -> Any:
        text: str = node.value
        tag = node.tag.removeprefix(_TAG) if node.tag.startswith(_TAG) else node.tag
        if tag == "str":
            return text
        if node.style or tag not in _SCALAR_TAGS:  # the C loader says '' for plain
            return self._refuse(node, path, "yaml-tag", _no_tag(node.tag))
        if tag == "bool":
            if text in ("true", "false"):
                return text == "true"
            message = f"{text} is read as a boolean by YAML; write true or false, or quote it"
            return self._refuse(node, path, "yaml-boolean", message)
        if tag == "null":
            return None
        if tag == "timestamp":
            return text
        number = _number(tag, text)
        if number is None:
            return self._refuse(node, path, "yaml-number", f"{text[:40]} is read as a number by YAML; quote it")
        return number

    def _refuse(self, node: Any, path: Path, code: str, message: str) -> None:
        self.broken.add(path)
        self._problem(node, code, message)

    def _problem(self, node: Any, code: str, message: str) -> None:
        mark = node.start_mark
        self.problems.append(
            Problem(file=self.file, line=mark.line + 1, column=mark.column + 1, code=code, message=message)
        )


def _number(tag: str, text: str) -> int | float | None:
    """Return the number that a plain scalar certainly is, or None."""
    if tag == "int" and len(text) <= _MAX_DIGITS and _INT.match(text):
        return int(text)
    if tag == "float" and _FLOAT.match(text) and math.isfinite(float(text)):
        return float(text)
    return None


def _no_tag(tag: str) -> str:
    return f"tag {tag} is not accepted; nothing is ever constructed from a matrix"
