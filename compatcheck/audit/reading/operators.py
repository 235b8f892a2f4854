"""What operators do with plain values, and which values are plain."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from typing import Any

from compatcheck.audit.reading.values import Capability, EnumMember, External, Instance, Sym, Template, Unknown, unwrap

COMPARISONS: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Is: lambda a, b: a is b if isinstance(a, (bool, type(None))) or isinstance(b, (bool, type(None))) else a == b,
    ast.IsNot: lambda a, b: (
        a is not b if isinstance(a, (bool, type(None))) or isinstance(b, (bool, type(None))) else a != b
    ),
    ast.In: lambda a, b: a in b,
    ast.NotIn: lambda a, b: a not in b,
}
ARITHMETIC: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.BitOr: operator.or_,
    ast.BitAnd: operator.and_,
    ast.LShift: operator.lshift,
}
LARGEST = 4096
"""Elements of a value that is computed; more is not understood (a text times a million is a memory bomb)."""
PLAIN = (str, int, float, bool, list, tuple, dict, set, frozenset, Capability)
PLAIN_TYPES: Any = PLAIN


def is_open(value: Any) -> bool:
    """Return whether a value depends on inputs, or is not known."""
    return isinstance(value, (Sym, Unknown, Template))


def holds_open(value: Any) -> bool:
    """Return whether a container has elements that depend on inputs, however deep."""
    if isinstance(value, dict):
        return any(is_open(item) or holds_open(item) for item in value.values())
    if isinstance(value, Instance):
        return any(is_open(item) or holds_open(item) for item in value.fields.values())
    if type(value) in (list, tuple):
        return any(is_open(item) or holds_open(item) for item in value)
    return False


def plain_members(value: Any) -> Any:
    """Return a value, or a list's or tuple's elements, with members of str and int enumerations as their values."""
    if isinstance(value, (list, tuple)) and not isinstance(value, (Capability, EnumMember, External)):
        return type(value)(map(unwrap, value)) if type(value) in (list, tuple) else value
    return unwrap(value)


def as_text(value: Any) -> str:
    """Return what `str` gives."""
    return str(unwrap(value))
