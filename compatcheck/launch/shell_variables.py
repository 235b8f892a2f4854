"""The variables and arrays that a shell text itself sets, and which of them are sure where they are used."""

from __future__ import annotations

import re

from compatcheck.launch.model import Word
from compatcheck.launch.shell_patterns import HIDDEN, UNKNOWN_PART

OPENERS = frozenset({"if", "for", "while", "until", "case", "select"})
CLOSERS = frozenset({"fi", "done", "esac"})
TESTS = frozenset({"[", "[[", "test"})
"""Commands after which `&&` means "only if"."""
MAX_VALUE = 100_000
MAX_ELEMENTS = 10_000
"""Characters of a variable and elements of an array; scripts double them in a line, launches are far below."""
_SETTERS = frozenset({"export", "declare", "local", "readonly", "typeset"})
_ASSIGNMENT = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)(\+?)=", re.S)


class Variables:
    """What is known while a text is read from top to bottom.

    A value that a branch may have set, or not, is not known after it; one that nothing in the text sets is not either.
    """

    def __init__(self, values: dict[str, str]) -> None:
        self.values = values
        self.arrays: dict[str, list[Word]] = {}
        self.unsure: set[str] = set()
        self.branches: list[tuple[str, set[str]]] = []
        """Opened and not yet closed: what opened it, and the names that were first set inside."""
        self.tested = False
        """Whether the command runs only if an earlier one of its `&&` or `||` chain says so."""

    def enter(self, opener: str) -> None:
        """Note that a branch or a loop starts."""
        self.branches.append((opener, set()))

    def leave(self) -> None:
        """Note its end: what it set first may be set or not, unless it was a loop."""
        if not self.branches:
            return
        opener, names = self.branches.pop()
        if opener in ("if", "case"):
            for name in names:
                self._forget(name)

    @property
    def conditional(self) -> bool:
        """Whether the command at hand may not run."""
        return self.tested or bool(self.branches)

    def learn(self, words: list[Word], arrays: list[tuple[str, bool, list[Word]]]) -> None:
        """Note what a command sets: `A=1 B=2`, `export A=1`, `A+=x`, and the arrays that were read with it."""
        for name, append, elements in arrays:
            self._array(name, elements, append=append)
        setter = bool(words) and words[0].text in _SETTERS
        rest = [word for word in words[1:] if not word.text.startswith("-")] if setter else words
        matches = [_ASSIGNMENT.match(word.text) for word in rest]
        if not matches or (not setter and any(match is None for match in matches)):
            return
        known = {name for name, _, _ in arrays}
        for word, match in zip(rest, matches, strict=True):
            if match is not None and match[1] not in known:
                self._scalar(match[1], word.text[match.end() :], append=bool(match[2]), dynamic=word.dynamic)

    def get(self, name: str, default: str | None) -> str | None:
        """Return a variable's value, else the default; None where only the shell knows it."""
        if name in self.unsure:
            return None
        if name in self.arrays and name not in self.values:
            first = self.arrays[name][:1]
            return first[0].text if first and not first[0].dynamic else default
        return self.values.get(name, default)

    def array(self, name: str) -> list[Word] | None:
        """Return an array's elements; one that is `dynamic` stands for elements that only the shell knows."""
        return self.arrays.get(name)

    # ----------------------------------------------------------------------------------------- setting

    def _scalar(self, name: str, value: str, *, append: bool, dynamic: bool) -> None:
        if dynamic:
            value = UNKNOWN_PART.sub(HIDDEN, value)
            value = value if HIDDEN in value else HIDDEN
        if append:
            before = self.get(name, None)
            before = HIDDEN if before is None else before
            if self.conditional:  # whether it is added is not known, what is there before is
                self.values[name] = before + (f" {HIDDEN} " if value[:1].isspace() else HIDDEN)
                self.unsure.discard(name)
                return
            value = before + value
        value = value if len(value) <= MAX_VALUE else HIDDEN
        present = self.values.get(name)
        if not append and self.conditional and present and value != present and value.startswith(present):
            self.values[name] = f"{present} {HIDDEN} "  # NAME="$NAME more" adds to it, where it is run at all
            return
        if self.conditional and self.values.get(name, None if self.tested else value) != value:
            self._forget(name)
        elif not self.conditional or name not in self.unsure:
            self._first(name)
            self.values[name] = value
            self.unsure.discard(name)

    def _array(self, name: str, elements: list[Word], *, append: bool) -> None:
        present = self.arrays.get(name)
        open_ = Word("${" + name + "[@]}", dynamic=True)
        if append and self.conditional:
            kept = [word for word in present or [] if word.text != open_.text]
            self.arrays[name] = [*kept, open_]
        elif append:
            kept = [*(present if present is not None else [open_]), *elements]
            self.arrays[name] = kept if len(kept) <= MAX_ELEMENTS else [*kept[:MAX_ELEMENTS], open_]
        elif self.tested or (self.branches and present is not None and present != elements):
            self.arrays[name] = [open_]
        else:
            self._first(name)
            self.arrays[name] = list(elements)

    def _first(self, name: str) -> None:
        if self.branches and name not in self.values and name not in self.arrays:
            self.branches[-1][1].add(name)

    def _forget(self, name: str) -> None:
        self.values.pop(name, None)
        if name in self.arrays:
            self.arrays[name] = [Word("${" + name + "[@]}", dynamic=True)]
        self.unsure.add(name)
