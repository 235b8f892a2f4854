"""What a Python file writes down: constants, the names that hold them, and words of commands."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

from compatcheck.launch.model import Word

CHANGES = frozenset({"update", "setdefault", "pop", "popitem", "clear"})
"""Methods after which a dictionary is no longer what the file wrote."""
_CLASSES = frozenset({"dict", "AttentionConfig", "ModelLoadingConfig"})
"""Calls whose keywords are the value."""
_PYTHON = "python3"


def name_of(node: ast.expr) -> str:
    """Return the last part of a dotted name; nothing for other expressions."""
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def value_of(node: ast.expr, names: dict[str, Any]) -> tuple[bool, Any]:
    """Return whether a value is written down in the file, and the value."""
    if isinstance(node, ast.Name) and node.id in names:
        return True, names[node.id]
    if isinstance(node, ast.Call):
        return _called(node, names)
    if isinstance(node, ast.Attribute):
        owner = name_of(node.value)
        if owner in ("AttentionBackendEnum", "torch"):
            return True, node.attr
        if (owner, node.attr) == ("sys", "executable"):
            return True, _PYTHON
    if isinstance(node, ast.Dict):
        return _dictionary(node, names)
    try:
        return True, ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return False, None


def _called(node: ast.Call, names: dict[str, Any]) -> tuple[bool, Any]:
    called = name_of(node.func)
    if called in _CLASSES and not node.args:
        pairs = [(k.arg, value_of(k.value, names)) for k in node.keywords]
        if all(arg is not None and value[0] for arg, value in pairs):
            return True, {arg: value[1] for arg, value in pairs}
    elif called == "str" and len(node.args) == 1 and not node.keywords:
        known, value = value_of(node.args[0], names)
        if known and isinstance(value, (str, int, float)):
            return True, str(value)
    return False, None


def _dictionary(node: ast.Dict, names: dict[str, Any]) -> tuple[bool, Any]:
    found: dict[Any, Any] = {}
    for key, item in zip(node.keys, node.values, strict=True):
        if not isinstance(key, ast.Constant):
            return False, None
        known, value = value_of(item, names)
        if not known:
            return False, None
        found[key.value] = value
    return True, found


def constants(nodes: Sequence[ast.AST]) -> dict[str, Any]:
    """Return the names that the file assigns exactly once, to a constant or to what is made of such names."""
    return _constants(nodes, _constants(nodes, {}))


def _constants(nodes: Sequence[ast.AST], names: dict[str, Any]) -> dict[str, Any]:
    values: dict[str, list[tuple[bool, Any]]] = {}
    for node in nodes:
        targets = node.targets if isinstance(node, ast.Assign) else []
        if isinstance(node, ast.AnnAssign) and node.value is not None:
            targets = [node.target]
        for target in targets:
            if isinstance(target, ast.Name) and isinstance(node, (ast.Assign, ast.AnnAssign)) and node.value:
                values.setdefault(target.id, []).append(value_of(node.value, names))
            elif isinstance(target, ast.Subscript):
                values.setdefault(name_of(target.value), []).append((False, None))
            elif isinstance(target, (ast.Tuple, ast.List)):
                for item in target.elts:
                    values.setdefault(name_of(item), []).append((False, None))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in CHANGES:
            values.setdefault(name_of(node.func.value), []).append((False, None))
        if isinstance(node, (ast.For, ast.AugAssign, ast.NamedExpr)) and isinstance(node.target, ast.Name):
            values.setdefault(node.target.id, []).append((False, None))
        if isinstance(node, ast.arg):
            values.setdefault(node.arg, []).append((False, None))
    return {name: found[0][1] for name, found in values.items() if len(found) == 1 and found[0][0]}


def word_of(node: ast.expr, names: dict[str, Any]) -> Word:
    """Return an element of a command as a word; of a formatted text the parts that are written stay readable."""
    place = node.lineno, node.col_offset + 1
    known, value = value_of(node, names)
    if known and isinstance(value, (str, int, float)):
        return Word(str(value), *place)
    if isinstance(node, ast.JoinedStr):
        text, dynamic = "", False
        for part in node.values:
            inner = part.value if isinstance(part, ast.FormattedValue) else part
            known, value = value_of(inner, names)
            text += str(value) if known else "$" + (name_of(inner) or "value")
            dynamic = dynamic or not known
        return Word(text, *place, dynamic)
    return Word(ast.unparse(node)[:80], *place, True)
