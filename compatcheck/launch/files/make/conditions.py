"""The conditional parts of a Makefile: which of them are read, as far as the file itself says it.

A variable that the file does not set may be set by whoever runs make, so what asks for it stays open; but what an
`ifndef NAME` sets NAME to is its default, as `NAME ?=` is.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import msgspec

from compatcheck.launch.files.make.lines import arguments
from compatcheck.launch.files.make.values import Values, Variable
from compatcheck.launch.files.scripts import is_known

DIRECTIVE = re.compile(r"^\s*(ifeq|ifneq|ifdef|ifndef|else|endif)(?=[\s(\"']|$)\s*(.*)$", re.S)
_QUOTED = re.compile(r"^(\"[^\"]*\"|'[^']*')\s*(\"[^\"]*\"|'[^']*')")
_ONE_NAME = re.compile(r"^\$[({](?:strip\s+\$[({])?([\w.-]+)[)}]+$")

MAX_NESTED = 50
"""Conditionals in conditionals; what stands deeper may be read or not."""


class _Branch(msgspec.Struct):
    state: bool | None
    """Whether this branch is read; None where it may be."""
    taken: bool | None
    """Whether this one or one before it is."""
    unset: str | None = None
    """The variable that it asks to be unset."""


class Conditions:
    """The conditionals that are open at a line."""

    def __init__(self, variable: Callable[[str], Variable | None], values: Values) -> None:
        self.variable = variable
        self.values = values
        self.open: list[_Branch] = []

    def directive(self, kind: str, rest: str) -> None:
        """Note `ifeq (a,b)`, `else`, `else ifdef X` or `endif`."""
        if kind == "endif":
            del self.open[-1:]
        elif kind == "else" and self.open:
            taken = self.open[-1].taken
            inner = DIRECTIVE.match(rest)
            state, unset = self._holds(inner[1], inner[2]) if inner is not None else (True, None)
            state = False if taken or state is False else None if taken is None else state
            self.open[-1] = _branch(state, unset, taken)
        elif kind != "else":
            self.open.append(_branch(*self._holds(kind, rest)))

    def reads(self, name: str | None = None) -> bool | None:
        """Return whether the line at hand is read, None where it may be. `name` is the variable that it sets."""
        found: bool | None = True if len(self.open) <= MAX_NESTED else None
        for branch in self.open[:MAX_NESTED]:
            if branch.state is False:
                return False
            if branch.state is None and (name is None or branch.unset != name):
                found = None
        return found

    def _holds(self, kind: str, rest: str) -> tuple[bool | None, str | None]:
        wanted = kind in ("ifeq", "ifdef")
        if kind in ("ifdef", "ifndef"):
            name = self.values.fill(rest).strip()
            variable = self.variable(name)
            if variable is None:
                return None, None if wanted else name
            return (bool(variable.text) is wanted) if variable.sure else None, None
        texts = _compared(rest)
        if texts is None:
            return None, None
        left, right = (self.values.fill(text).strip() for text in texts)
        if is_known(left) and is_known(right):
            return (left == right) is wanted, None
        asked = [_ONE_NAME.match(text) for text, other in (texts, texts[::-1]) if not other]
        name = next((match[1] for match in asked if match is not None), "")
        return None, name if wanted and name and self.variable(name) is None else None


def _branch(state: bool | None, unset: str | None, before: bool | None = False) -> _Branch:
    taken = True if state else None if state is None or before is None else before
    return _Branch(state, taken, unset)


def _compared(rest: str) -> tuple[str, str] | None:
    rest = rest.strip()
    if rest.startswith("(") and rest.endswith(")"):
        texts = arguments(rest[1:-1])
        return (texts[0].strip(), texts[1].strip()) if len(texts) == 2 else None
    match = _QUOTED.match(rest)
    return (match[1][1:-1], match[2][1:-1]) if match is not None else None
