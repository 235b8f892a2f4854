"""A fingerprint of functions' meaning as text: comments, docstrings, annotations and log lines do not count."""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterable

_QUIET = frozenset({"logger", "logging", "warnings"})
_LEFT_OUT = frozenset({"returns", "annotation", "type_comment", "type_params", "type_ignores", "kind", "ctx"})


def digest(functions: Iterable[ast.AST], more: Iterable[str] = ()) -> str:
    """Return 16 hexadecimal digits over functions (in any order) and further texts."""
    texts = sorted({_canonical(node) for node in functions} | {f"+{text}" for text in more})
    return hashlib.sha256("\0".join(texts).encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _canonical(node: object) -> str:
    """Return a text that is the same for the same syntax in every Python that compatcheck runs on."""
    pending: list[object] = [node]
    parts: list[str] = []
    while pending:
        item = pending.pop()
        if isinstance(item, ast.AST):
            fields = [
                (name, value)
                for name, value in ast.iter_fields(item)
                if name not in _LEFT_OUT and value not in (None, [])
            ]
            parts.append(f"{type(item).__name__}(")
            pending.append(")")
            for name, value in reversed(fields):
                kept = [v for v in value if not _silent(v)] if name == "body" and isinstance(value, list) else value
                pending.append(kept)
                pending.append(f"{name}=")
        elif isinstance(item, list):
            parts.append("[")
            pending.append("]")
            pending += reversed(item)
        elif isinstance(item, str) and (item in ("]", ")") or item.endswith("=")):
            parts.append(item)
        else:
            parts.append(repr(item))
    return "".join(parts)


def _silent(statement: ast.AST) -> bool:
    if not isinstance(statement, ast.Expr):
        return False
    value: ast.AST = statement.value
    if isinstance(value, ast.Constant):
        return True
    while isinstance(value, (ast.Call, ast.Attribute)):
        value = value.func if isinstance(value, ast.Call) else value.value
    return isinstance(value, ast.Name) and value.id in _QUIET
