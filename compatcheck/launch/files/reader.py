"""What every reader of launch files is: a name, which files it takes, and the launches in a text."""

from __future__ import annotations

import re
from typing import Protocol

from compatcheck.launch.model import Launch
from compatcheck.launch.yaml_lenient import Node, YamlError, read_lenient


class UnreadableError(ValueError):
    """A file of the reader's kind that cannot be read; `line` and `column` say where (from 1)."""

    def __init__(self, message: str, line: int = 1, column: int = 1) -> None:
        super().__init__(message)
        self.line = line
        self.column = column


class Reader(Protocol):
    """One kind of file."""

    name: str

    def takes(self, path: str, text: str) -> bool:
        """Return whether a file is of this kind; `path` is as the user wrote it, with forward slashes."""

    def launches(self, text: str) -> list[Launch]:
        """Return the launches in the text, in order. Raises `UnreadableError`; runs nothing."""


YAML = (".yaml", ".yml")


def has_key(text: str, key: str) -> bool:
    """Return whether a YAML text has a key somewhere, quoted as in JSON or not."""
    return re.search(rf"\b{re.escape(key)}[\"']?\s*:", text) is not None


def read_documents(text: str, title: str) -> list[Node]:
    """Return the documents of a YAML text, which `title` names where it cannot be read. Raises `UnreadableError`."""
    try:
        return read_lenient(text, title)
    except YamlError as error:
        raise UnreadableError(str(error), error.line, error.column) from error
