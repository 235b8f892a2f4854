"""Classes of a release: linearised bases, and what a name means on them."""

from __future__ import annotations

import ast
from typing import Any

from compatcheck.audit.reading.values import ClassValue, External

HARMLESS = frozenset(
    [
        "object",
        "abc.ABC",
        "ABC",
        "typing.Generic",
        "Generic",
        "typing.Protocol",
        "Protocol",
        "enum.Enum",
        "Enum",
        "enum.IntEnum",
        "IntEnum",
        "enum.StrEnum",
        "StrEnum",
        "enum.Flag",
        "enum.IntFlag",
        "str",
        "int",
        "typing.NamedTuple",
        "NamedTuple",
        "torch.nn.Module",
        "nn.Module",
        "Exception",
        "ValueError",
        "RuntimeError",
    ]
)
"""Bases from outside that answer none of the questions that are asked of a backend."""
ENUMS = frozenset(
    ["enum.Enum", "Enum", "enum.IntEnum", "IntEnum", "enum.StrEnum", "StrEnum", "enum.Flag", "enum.IntFlag"]
)
PLAIN_ENUMS = frozenset(["enum.IntEnum", "IntEnum", "enum.StrEnum", "StrEnum", "str", "int"])


def linearise(cls: ClassValue) -> list[Any]:
    """Return the class and its bases in Python's order (C3); bases from outside stay as `External` or `Unknown`."""
    if cls.order is None:
        cls.order = _linearised(cls)
    return cls.order


def _linearised(cls: ClassValue) -> list[Any]:
    inherited = [linearise(base) for base in cls.bases if isinstance(base, ClassValue)]
    foreign = [base for order in inherited for base in order if not isinstance(base, ClassValue)]
    foreign += [base for base in cls.bases if not isinstance(base, ClassValue)]
    sequences = [[base for base in order if isinstance(base, ClassValue)] for order in inherited]
    sequences.append([base for base in cls.bases if isinstance(base, ClassValue)])
    result: list[Any] = [cls]
    while any(sequences):
        heads = [sequence[0] for sequence in sequences if sequence]
        head = next((h for h in heads if not any(h in other[1:] for other in sequences)), None)
        if head is None:
            raise ValueError(f"the bases of {cls.name} have no consistent order")
        result.append(head)
        for sequence in sequences:
            if sequence and sequence[0] == head:
                del sequence[0]
    return [*result, *foreign]


def root_names(cls: ClassValue) -> set[str]:
    """Return the names of the bases from outside; 'unknown' where one cannot be told."""
    return {
        base.name if isinstance(base, External) else "unknown"
        for base in linearise(cls)
        if not isinstance(base, ClassValue)
    }


def is_enum(cls: ClassValue) -> bool:
    """Return whether a class is an enumeration."""
    return bool(root_names(cls) & ENUMS)


def is_plain_enum(cls: ClassValue) -> bool:
    """Return whether members equal their values."""
    return bool(root_names(cls) & PLAIN_ENUMS)


def bindings(node: ast.ClassDef) -> dict[str, list[ast.stmt]]:
    """Return name -> the statements of a class's body that bind it."""
    kept: dict[str, list[ast.stmt]] | None = getattr(node, "_bindings", None)
    if kept is not None:
        return kept
    found: dict[str, list[ast.stmt]] = {}
    node._bindings = found  # type: ignore[attr-defined]
    for statement in node.body:
        if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            found.setdefault(statement.name, []).append(statement)
        elif isinstance(statement, ast.AnnAssign):
            if isinstance(statement.target, ast.Name) and statement.value is not None:
                found.setdefault(statement.target.id, []).append(statement)
        else:
            for inner in ast.walk(statement):
                if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store):
                    found.setdefault(inner.id, []).append(statement)
                elif isinstance(inner, (ast.FunctionDef, ast.AsyncFunctionDef)):
                    found.setdefault(inner.name, []).append(statement)
    return found


def annotated_fields(node: ast.ClassDef) -> list[tuple[str, ast.expr | None]]:
    """Return a dataclass's or named tuple's fields with their defaults."""
    return [
        (item.target.id, item.value)
        for item in node.body
        if isinstance(item, ast.AnnAssign)
        and isinstance(item.target, ast.Name)
        and "ClassVar" not in ast.dump(item.annotation)
    ]
