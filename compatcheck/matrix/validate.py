"""Values against the typed model: every mismatch at once, each with the path that leads to it.

msgspec stops at the first error; a person who edits a matrix wants all of them, so the model's types are walked here.
"""

from __future__ import annotations

import difflib
from typing import Any

import msgspec
from msgspec import inspect as types

Path = tuple[str | int, ...]


class Mismatch(msgspec.Struct, frozen=True):
    """A value that the model does not accept."""

    path: Path
    code: str
    message: str


def mismatches(value: Any, model: type) -> list[Mismatch]:
    """Return every place where a plain value differs from the model; empty if `msgspec.convert` would accept it."""
    found: list[Mismatch] = []
    _check(value, types.type_info(model), (), found)
    return found


def _check(value: Any, expected: types.Type, path: Path, found: list[Mismatch]) -> None:
    if isinstance(expected, types.AnyType):
        return
    if isinstance(expected, types.UnionType):
        _check_union(value, expected, path, found)
    elif isinstance(expected, types.StructType):
        if isinstance(value, dict):
            _check_struct(value, expected, path, found)
        else:
            found.append(
                Mismatch(path, "wrong-type", f"expected a mapping ({expected.cls.__name__}), found {_kind(value)}")
            )
    elif isinstance(expected, types.DictType):
        if isinstance(value, dict):
            for key, item in value.items():
                _check(item, expected.value_type, (*path, key), found)
        else:
            found.append(Mismatch(path, "wrong-type", f"expected a mapping, found {_kind(value)}"))
    elif isinstance(expected, types.ListType):
        if isinstance(value, list):
            for index, item in enumerate(value):
                _check(item, expected.item_type, (*path, index), found)
        else:
            found.append(Mismatch(path, "wrong-type", f"expected a list, found {_kind(value)}"))
    elif isinstance(expected, types.LiteralType):
        if not any(type(value) is type(known) and value == known for known in expected.values):
            near = difflib.get_close_matches(str(value), [str(v) for v in expected.values], n=1)
            hint = f"; did you mean {near[0]}?" if near else ""
            allowed = ", ".join(str(v) for v in expected.values)
            found.append(Mismatch(path, "wrong-value", f"expected one of {allowed}; found {value!r}{hint}"))
    elif not _is(value, expected):
        hint = "; quote it" if isinstance(expected, types.StrType) and isinstance(value, int | float) else ""
        found.append(Mismatch(path, "wrong-type", f"expected {_name(expected)}, found {_kind(value)}{hint}"))


def _check_struct(value: dict[str, Any], expected: types.StructType, path: Path, found: list[Mismatch]) -> None:
    fields = {field.encode_name: field for field in expected.fields}
    for key, item in value.items():
        if key in fields:
            _check(item, fields[key].type, (*path, key), found)
        else:
            near = difflib.get_close_matches(str(key), list(fields), n=1)
            hint = f"; did you mean {near[0]}?" if near else f"; known: {', '.join(fields)}"
            found.append(Mismatch((*path, key), "unknown-key", f"unknown key {key!r}{hint}"))
    found += [
        Mismatch(path, "missing-key", f"key {name!r} is required")
        for name, field in fields.items()
        if field.required and name not in value
    ]


def _check_union(value: Any, expected: types.UnionType, path: Path, found: list[Mismatch]) -> None:
    if any(_is(value, option) for option in expected.types):
        return
    for option in expected.types:
        container = (types.DictType, dict), (types.StructType, dict), (types.ListType, list)
        if any(isinstance(option, kind) and isinstance(value, plain) for kind, plain in container):
            _check(value, option, path, found)
            return
        if isinstance(option, types.LiteralType):
            _check(value, option, path, found)
            return
    names = " or ".join(_name(option) for option in expected.types if not isinstance(option, types.NoneType))
    hint = (
        "; quote it"
        if any(isinstance(o, types.StrType) for o in expected.types) and isinstance(value, int | float)
        else ""
    )
    found.append(Mismatch(path, "wrong-type", f"expected {names}, found {_kind(value)}{hint}"))


def _is(value: Any, expected: types.Type) -> bool:
    if isinstance(expected, types.NoneType):
        return value is None
    if isinstance(expected, types.BoolType):
        return isinstance(value, bool)
    if isinstance(expected, types.StrType):
        return isinstance(value, str)
    if isinstance(expected, types.IntType):
        return isinstance(value, int) and not isinstance(value, bool)
    if isinstance(expected, types.FloatType):
        return isinstance(value, int | float) and not isinstance(value, bool)
    return False


def _name(expected: types.Type) -> str:
    names = {
        types.StrType: "text",
        types.IntType: "a whole number",
        types.FloatType: "a number",
        types.BoolType: "true or false",
        types.DictType: "a mapping",
        types.ListType: "a list",
        types.NoneType: "nothing",
    }
    return names.get(type(expected), type(expected).__name__)


def _kind(value: Any) -> str:
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return f"the boolean {str(value).lower()}"
    if isinstance(value, dict):
        return "a mapping"
    if isinstance(value, list):
        return "a list"
    return f"the number {value}" if isinstance(value, int | float) else f"the text {value!r}"
