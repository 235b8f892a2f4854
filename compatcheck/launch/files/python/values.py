"""What a Python file writes down: constants, the names that hold them, and words of commands."""

from __future__ import annotations

import ast
import json
from typing import Any

from compatcheck.launch.files.python.bindings import Binding
from compatcheck.launch.files.python.scopes import MAX_BINDINGS, Scopes
from compatcheck.launch.model import Word

_CLASSES = frozenset({"dict", "AttentionConfig", "ModelLoadingConfig"})
"""Calls whose keywords are the value, beside the classes of vllm.config."""
_PYTHON = "python3"
MAX_SIZE = 20_000
"""Characters of a text, and items of a value, that names are made of; names made of names twice grow without end."""
UNKNOWN: tuple[bool, Any] = (False, None)


def name_of(node: ast.expr) -> str:
    """Return the last part of a dotted name; nothing for other expressions."""
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


class Values:
    """Values of expressions where they stand; what the file does not write down is not known."""

    def __init__(self, scopes: Scopes, changed: set[str]) -> None:
        self.scopes = scopes
        self.changed = changed
        """Names that may hold a dictionary or list of which something is changed."""
        self._kept: dict[int, tuple[bool, Any]] = {}

    def value(self, node: ast.expr) -> tuple[bool, Any]:
        """Return whether a value is written down in the file, and the value."""
        if isinstance(node, ast.Constant):
            return True, node.value
        if isinstance(node, ast.Name):
            return self._named(node)
        if isinstance(node, ast.Call):
            return self._called(node)
        if isinstance(node, ast.Attribute):
            owner = name_of(node.value)
            if owner in ("AttentionBackendEnum", "torch"):
                return True, node.attr
            return (True, _PYTHON) if (owner, node.attr) == ("sys", "executable") else UNKNOWN
        if isinstance(node, ast.Dict):
            return self._dictionary(node)
        if isinstance(node, (ast.List, ast.Tuple)):
            items = [self.value(item) for item in node.elts]
            return (True, [value for _, value in items]) if all(known for known, _ in items) else UNKNOWN
        if isinstance(node, ast.JoinedStr):
            word = self.word(node)
            return UNKNOWN if word.dynamic else (True, word.text)
        if isinstance(node, ast.IfExp):
            known, test = self.value(node.test)
            return self.value(node.body if test else node.orelse) if known else UNKNOWN
        if isinstance(node, ast.Subscript):
            return self._element(node)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
            (one, left), (two, right) = self.value(node.left), self.value(node.right)
            alike = one and two and type(left) is type(right) and isinstance(left, (str, int))
            return (True, left + right) if alike and _size(left) + _size(right) < MAX_SIZE else UNKNOWN
        try:
            return True, ast.literal_eval(node)
        except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
            return UNKNOWN

    def _named(self, node: ast.Name) -> tuple[bool, Any]:
        place = self.scopes.at.get(id(node))
        found = self.scopes.lookup(node.id, place.scope) if place is not None else []
        binding = self.scopes.binding(node.id, place) if place is not None else None
        if binding is None or binding.value is None or any(one.grows for one in found[:MAX_BINDINGS]):
            return UNKNOWN
        known, value = self._bound(binding)
        return UNKNOWN if node.id in self.changed and isinstance(value, (dict, list)) else (known, value)

    def _bound(self, binding: Binding) -> tuple[bool, Any]:
        key = id(binding)
        if key not in self._kept and binding.value is not None:
            self._kept[key] = UNKNOWN  # while it is read: a name that is made of itself
            known, value = self.value(binding.value)
            self._kept[key] = (True, value) if known and _size(value) < MAX_SIZE else UNKNOWN
        return self._kept[key]

    def _element(self, node: ast.Subscript) -> tuple[bool, Any]:
        (known, whole), (named, key) = self.value(node.value), self.value(node.slice)
        if known and named and isinstance(whole, (dict, list)):
            try:
                return True, whole[key]
            except (KeyError, IndexError, TypeError):
                return UNKNOWN
        return UNKNOWN

    def _called(self, node: ast.Call) -> tuple[bool, Any]:
        called = name_of(node.func)
        if not node.args and (called in _CLASSES or self.scopes.dotted(node.func).startswith("vllm.config.")):
            pairs = [(k.arg, self.value(k.value)) for k in node.keywords]
            if all(arg is not None and value[0] for arg, value in pairs):
                return True, {arg: value[1] for arg, value in pairs}
        elif len(node.args) == 1 and not node.keywords:
            known, value = self.value(node.args[0])
            if known and called == "str" and isinstance(value, (str, int, float)):
                return True, str(value)
            if known and self.scopes.dotted(node.func) == "json.dumps":
                try:
                    return True, json.dumps(value)
                except (TypeError, ValueError):
                    return UNKNOWN
        return UNKNOWN

    def _dictionary(self, node: ast.Dict) -> tuple[bool, Any]:
        found: dict[Any, Any] = {}
        for key, item in zip(node.keys, node.values, strict=True):
            known, value = self.value(item)
            if key is None and known and isinstance(value, dict):
                found |= value
                continue
            named, name = self.value(key) if key is not None else UNKNOWN
            if not known or not named or not isinstance(name, (str, int, float, bool)):
                return UNKNOWN
            found[name] = value
        return True, found

    def word(self, node: ast.expr) -> Word:
        """Return an element of a command as a word; of a formatted text the parts that are written stay readable."""
        place = node.lineno, node.col_offset + 1
        if isinstance(node, ast.JoinedStr):
            text, dynamic = "", False
            for part in node.values:
                plain = not isinstance(part, ast.FormattedValue) or (part.conversion == -1 and part.format_spec is None)
                inner = part.value if isinstance(part, ast.FormattedValue) else part
                known, value = self.value(inner) if plain else UNKNOWN
                text += str(value) if known else "$" + (name_of(inner) or "value")
                dynamic = dynamic or not known
            return Word(text[:MAX_SIZE], *place, dynamic or len(text) > MAX_SIZE)
        known, value = self.value(node)
        if known and isinstance(value, (str, int, float)):
            return Word(str(value), *place)
        return Word(ast.unparse(node)[:80], *place, True)


def _size(value: Any) -> int:
    """Return the characters and items of a value, or more than the limit where there are more."""
    size, open_ = 0, [value]
    while open_ and size < MAX_SIZE:
        one = open_.pop()
        size += len(one) if isinstance(one, str) else 1
        open_ += one.values() if isinstance(one, dict) else one if isinstance(one, list) else []
    return size
