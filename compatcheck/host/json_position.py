"""Line and column of a place in a JSON text, for error messages."""

from __future__ import annotations

import re

import msgspec

_SPACE = re.compile(r"[ \t\n\r]*")
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
_SCALAR = re.compile(r"[^\s,\]}]+")
_STEP = re.compile(r"\.([^.\[\]]+)|\[(\d+|\.\.\.)\]")


def line_column(text: str, offset: int) -> tuple[int, int]:
    """Return the 1-based line and column of a character offset."""
    offset = max(0, min(offset, len(text)))
    return text.count("\n", 0, offset) + 1, offset - (text.rfind("\n", 0, offset) + 1) + 1


def locate(text: str, path: str) -> int:
    """Return the offset of the value that a msgspec path such as '$.gpus[0].sm' names, in a valid JSON text.

    Where a step of the path is not in the text (a missing field) or is not a single place (`[...]`, any
    element), the offset is that of the last value reached.
    """
    steps = [match[1] if match[1] is not None else match[2] for match in _STEP.finditer(path)]
    offset = _skip(text, 0)
    for step in steps:
        inner = _member(text, offset, step)
        if inner is None:
            break
        offset = inner
    return offset


def _skip(text: str, offset: int) -> int:
    match = _SPACE.match(text, offset)
    return match.end() if match else offset


def _member(text: str, offset: int, step: str) -> int | None:
    """Return the offset of a member's value inside the object or array at an offset, or None."""
    kind = text[offset : offset + 1]
    if kind not in ("{", "["):
        return None
    offset, index = _skip(text, offset + 1), 0
    while text[offset] not in "}]":
        key = str(index)
        if kind == "{":
            end = _string_end(text, offset)
            key, offset = msgspec.json.decode(text[offset:end], type=str), end
            offset = _skip(text, _skip(text, offset) + 1)
        if key == step:
            return offset
        offset = _skip(text, _end(text, offset))
        if text[offset] == ",":
            offset = _skip(text, offset + 1)
        index += 1
    return None


def _string_end(text: str, offset: int) -> int:
    match = _STRING.match(text, offset)
    return match.end() if match else len(text)


def _end(text: str, offset: int) -> int:
    """Return the offset just after the value at an offset."""
    depth = 0
    while True:
        character = text[offset]
        if character == '"':
            offset = _string_end(text, offset)
        elif character in "{[":
            depth, offset = depth + 1, offset + 1
        elif character in "}]":
            depth, offset = depth - 1, offset + 1
        elif depth and character in ",: \t\n\r":
            offset += 1
        else:
            scalar = _SCALAR.match(text, offset)
            offset = scalar.end() if scalar else offset + 1
        if depth == 0:
            return offset
