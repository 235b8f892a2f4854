"""YAML to plain values with the place of each, strictly: what PyYAML would silently change is an error here.

Duplicate keys, anchors and aliases, tags, and plain scalars that YAML 1.1 turns into something unexpected (`no` into
false, `12:30` into 750) are refused with line and column. Nothing is constructed from a tag.
"""

from __future__ import annotations

import re
from typing import Any

from compatcheck.matrix.errors import MatrixError, Problem

Path = tuple[str | int, ...]
Place = tuple[int, int]

MAX_BYTES = 8 * 1024 * 1024
MAX_DEPTH = 64
_TAG = "tag:yaml.org,2002:"
_INT = re.compile(r"^[-+]?(0|[1-9][0-9]*)$")
_FLOAT = re.compile(r"^[-+]?[0-9]+\.[0-9]+([eE][-+]?[0-9]+)?$")


def read_yaml(text: str, file: str) -> tuple[Any, dict[Path, Place]]:
    """Return the document's values and the place (line, column, from 1) of every key and list item.

    Raises `MatrixError` with all problems that can be found without guessing.
    """
    import yaml

    if len(text) > MAX_BYTES:
        raise MatrixError(
            [Problem(file=file, line=0, column=0, code="too-large", message=f"larger than {MAX_BYTES} bytes")]
        )
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        node = yaml.compose(text, Loader=loader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line, column = (mark.line + 1, mark.column + 1) if mark else (0, 0)
        message = " ".join(part for part in (error.context, error.problem) if part)
        raise MatrixError(
            [Problem(file=file, line=line, column=column, code="yaml-syntax", message=message)]
        ) from error
    except (yaml.YAMLError, RecursionError) as error:
        message = f"not readable as YAML: {error}".splitlines()[0]
        raise MatrixError(
            [Problem(file=file, line=0, column=0, code="yaml-syntax", message=message)]
        ) from error
    reader = _Reader(file)
    value = {} if node is None else reader.build(node, (), 0)
    if reader.problems:
        raise MatrixError(reader.problems)
    return value, reader.places


class _Reader:
    def __init__(self, file: str) -> None:
        self.file = file
        self.places: dict[Path, Place] = {}
        self.problems: list[Problem] = []
        self._seen: set[int] = set()

    def build(self, node: Any, path: Path, depth: int) -> Any:
        self.places.setdefault(path, (node.start_mark.line + 1, node.start_mark.column + 1))
        kind = node.id
        if kind == "scalar":
            return self._scalar(node)
        if depth > MAX_DEPTH:
            self._problem(node, "too-deep", f"nested deeper than {MAX_DEPTH} levels")
            return None
        if id(node) in self._seen:
            self._problem(
                node, "yaml-alias", "anchors and aliases are not used in matrix files; write the value again"
            )
            return None
        self._seen.add(id(node))
        if not node.tag.startswith(_TAG) or node.tag.removeprefix(_TAG) not in ("map", "seq"):
            self._problem(
                node, "yaml-tag", f"tag {node.tag} is not accepted; nothing is ever constructed from a matrix"
            )
            return None
        if kind == "sequence":
            return [self.build(item, (*path, index), depth + 1) for index, item in enumerate(node.value)]
        return self._mapping(node, path, depth)

    def _mapping(self, node: Any, path: Path, depth: int) -> dict[str, Any]:
        result: dict[str, Any] = {}
        for key_node, value_node in node.value:
            if key_node.id != "scalar":
                self._problem(key_node, "yaml-key", "keys are plain names")
                continue
            key = key_node.value
            place = (key_node.start_mark.line + 1, key_node.start_mark.column + 1)
            if key == "<<":
                self._problem(key_node, "yaml-alias", "merge keys are not used in matrix files")
                continue
            if key in result:
                first = self.places[(*path, key)]
                self._problem(
                    key_node, "duplicate-key", f"key {key!r} is already at line {first[0]}, column {first[1]}"
                )
                continue
            self.places[(*path, key)] = place
            result[key] = self.build(value_node, (*path, key), depth + 1)
        return result

    def _scalar(self, node: Any) -> Any:
        text: str = node.value
        tag = node.tag.removeprefix(_TAG) if node.tag.startswith(_TAG) else node.tag
        if node.style or tag == "str":  # the C loader says '' for plain
            if tag not in ("str", "int", "float", "bool", "null", "timestamp"):
                self._problem(node, "yaml-tag", f"tag {node.tag} is not accepted")
            return text
        if tag == "bool":
            if text in ("true", "false"):
                return text == "true"
            self._problem(
                node, "yaml-boolean", f"{text} is read as a boolean by YAML; write true or false, or quote it"
            )
        elif tag == "null":
            return None
        elif tag == "int":
            if _INT.match(text):
                return int(text)
            self._problem(node, "yaml-number", f"{text} is read as a number by YAML; quote it")
        elif tag == "float":
            if _FLOAT.match(text):
                return float(text)
            self._problem(node, "yaml-number", f"{text} is read as a number by YAML; quote it")
        elif tag == "timestamp":
            return text
        else:
            self._problem(
                node, "yaml-tag", f"tag {node.tag} is not accepted; nothing is ever constructed from a matrix"
            )
        return None

    def _problem(self, node: Any, code: str, message: str) -> None:
        mark = node.start_mark
        self.problems.append(
            Problem(file=self.file, line=mark.line + 1, column=mark.column + 1, code=code, message=message)
        )
