"""The values of make's variables, and texts with them filled in.

Source: the manual of GNU make, "How to Use Variables" and "Functions for Transforming Text". Of the functions `call`,
`foreach` and `strip` are understood, and those that give nothing; what the others give is unknown, as is a variable
that the file does not set: whoever runs make may set it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import msgspec

from compatcheck.launch.files.make.lines import arguments, references
from compatcheck.launch.files.scripts import MARK, MAX_VALUE, is_known

MAX_DEPTH = 50
"""Variables in variables that are followed."""
MAX_CHARACTERS = 300_000
"""Characters that are filled in for one file; beyond them values are unknown."""
_NOTHING = ("info", "warning", "eval")
"""Functions that give an empty text."""


class Variable(msgspec.Struct):
    """One variable. `simple` ones (`:=`) hold what their text was when it was read, others a text to be filled in."""

    parts: list[str]
    simple: bool
    line: int
    column: int
    sure: bool = True
    """Whether this is its value, whatever conditions come out as."""
    override: bool = False
    includes: int = 0
    """How many other files had been read when it was set: a later one may set it anew."""

    @property
    def text(self) -> str:
        """Its text, joined once."""
        if len(self.parts) > 1:
            self.parts[:] = [" ".join(self.parts)]
        return self.parts[0]


class Spent(msgspec.Struct):
    """What was filled in so far, over the whole file."""

    characters: int = 0
    used: set[str] = msgspec.field(default_factory=set)
    """Variables that were filled in."""


class Values:
    """Fills texts in. `get` gives a variable, None where it is not known; `local` are make's own, such as `$@`."""

    def __init__(
        self,
        get: Callable[[str], Variable | None],
        unknown: Callable[[str], str],
        spent: Spent,
        local: Mapping[str, str] | None = None,
    ) -> None:
        self.get = get
        self.unknown = unknown
        self.spent = spent
        self.local = dict(local or {})
        self.done: dict[str, str] = {}
        self.open: set[str] = set()

    def forget(self) -> None:
        """Note that a variable was set: what others hold may have changed."""
        self.done.clear()

    def fill(self, text: str) -> str:
        """Return a text with everything in it filled in."""
        parts: list[str] = []
        at = 0
        for start, end, inner in references(text):
            parts += [text[at:start], self.replaced(text[start:end], inner)]
            at = end
        parts.append(text[at:])
        return "".join(parts)

    def replaced(self, said: str, inner: str | None) -> str:
        """Return what stands in place of one reference."""
        if inner is None:
            return "$"
        if inner.startswith(MARK) and inner.endswith("_"):
            return said
        if len(inner) > MAX_VALUE or len(self.open) >= MAX_DEPTH or self.spent.characters > MAX_CHARACTERS:
            return self.unknown(said)
        value = self._value(inner)
        self.spent.characters += 20 + len(value or "")
        return self.unknown(said) if value is None or len(value) > MAX_VALUE else value

    def _value(self, inner: str) -> str | None:
        name, _, rest = inner.partition(" ")
        if rest:
            if name in _NOTHING:
                return ""
            return self._function(name, rest) if name in ("call", "strip", "foreach") else None
        if "$" in name:
            name = self._inside(name, name)
        if name in self.local:
            return self.local[name]
        variable = self.get(name)
        if variable is None or name in self.open:
            return None
        self.spent.used.add(name)
        if variable.simple:
            return variable.text
        if name not in self.done:
            self.done[name] = self._inside(name, variable.text)
        return self.done[name]

    def _function(self, name: str, rest: str) -> str | None:
        if name == "strip":
            return " ".join(self._inside("strip " + rest, rest).split())
        if name == "foreach":
            return self._each(*arguments(rest, 2))
        called, *given = [self._inside("call " + rest, part) for part in arguments(rest)]
        variable = self.get(called.strip())
        if variable is None or called in self.open:
            return None
        self.spent.used.add(called.strip())
        numbers = {str(n): "" for n in range(10)} | {str(n): text for n, text in enumerate(given, 1)}
        inner = Values(self.get, self.unknown, self.spent, self.local | numbers | {"0": called})
        inner.open = {*self.open, called}
        return variable.text if variable.simple else inner.fill(variable.text)

    def _each(self, name: str, items: str = "", body: str = "") -> str | None:
        """Return what `$(foreach name,items,body)` gives."""
        name, items = self.fill(name).strip(), self.fill(items)
        if not is_known(items):
            return None
        inner = Values(self.get, self.unknown, self.spent, self.local)
        inner.open = {*self.open, f"foreach {name}"}
        found: list[str] = []
        for item in items.split():
            inner.local[name] = item
            inner.forget()
            self.spent.characters += 20 + len(body)
            if self.spent.characters > MAX_CHARACTERS:
                return None
            found.append(inner.fill(body))
        return " ".join(found)

    def _inside(self, name: str, text: str) -> str:
        """Fill in a text that belongs to a name, which may not be used in it."""
        self.open.add(name)
        value = self.fill(text)
        self.open.discard(name)
        return value
