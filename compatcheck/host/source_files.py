"""Parse installed Python files without importing them; what cannot be parsed is an answer, too."""

from __future__ import annotations

import ast
import warnings
from pathlib import Path

LARGEST = 4 << 20
"""Bytes above which a file is not parsed; the largest that matters here (prefill.py) has 0.4 MB."""


class UnreadableSourceError(Exception):
    """A source file that exists but cannot be parsed; the text says why, without a path."""


def read_source(path: Path) -> str:
    """Return a Python file's text.

    Raises FileNotFoundError where there is none, and `UnreadableSourceError` where it cannot be read, is
    larger than `LARGEST` or is not UTF-8.
    """
    try:
        with path.open("rb") as stream:
            raw = stream.read(LARGEST + 1)
    except (FileNotFoundError, NotADirectoryError):
        raise FileNotFoundError(path.name) from None
    except OSError as error:
        raise UnreadableSourceError(f"cannot be read: {error.strerror or type(error).__name__}") from None
    if len(raw) > LARGEST:
        raise UnreadableSourceError(f"is larger than {LARGEST >> 20} MiB")
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UnreadableSourceError(f"is not UTF-8 at byte {error.start}") from None


def parse_source(text: str) -> ast.Module:
    """Return a syntax tree; raises `UnreadableSourceError` for whatever Python's parser cannot take."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # invalid escapes in other people's strings
            return ast.parse(text)
    except SyntaxError as error:
        raise UnreadableSourceError(f"invalid syntax at line {error.lineno}: {error.msg}") from None
    except (ValueError, RecursionError, MemoryError) as error:
        raise UnreadableSourceError(f"cannot be parsed: {type(error).__name__}") from None


def constant(tree: ast.Module, name: str) -> str | None:
    """Return the text assigned to a module-level name (`cuda: Optional[str] = '13.0'`), or None."""
    for node in tree.body:
        targets: list[ast.expr] = []
        if isinstance(node, ast.Assign):
            targets = node.targets
        elif isinstance(node, ast.AnnAssign):
            targets = [node.target]
        if any(isinstance(target, ast.Name) and target.id == name for target in targets):
            value = node.value if isinstance(node, (ast.Assign, ast.AnnAssign)) else None
            if isinstance(value, ast.Constant) and isinstance(value.value, str):
                return value.value
    return None


def constants(path: Path, names: tuple[str, ...]) -> dict[str, str]:
    """Return a file's module-level text constants that are there; nothing where it cannot be read."""
    try:
        tree = parse_source(read_source(path))
    except (FileNotFoundError, UnreadableSourceError):
        return {}
    found = {name: constant(tree, name) for name in names}
    return {name: value for name, value in found.items() if value is not None}
