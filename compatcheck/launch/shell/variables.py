"""The variables and arrays that a shell text itself sets, and what is sure of them where they are used."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from compatcheck.launch.model import Word
from compatcheck.launch.shell.patterns import HIDDEN
from compatcheck.launch.shell.variable import Variable, joined

MAX_VALUE = 20_000
MAX_ELEMENTS = 2_000
"""Characters of a variable and elements of an array; scripts double them in a line, launches are far below."""
MAX_EXPANDED = 2_000_000
"""Characters that all expansions of a text give; what is expanded behind them is not known."""
MAX_FORGOTTEN = 500_000
"""Names that all loops and functions of a text make unknown one by one; behind that they make all unknown."""
MAX_DEPTH = 100
"""Scopes in scopes; what is set deeper is not known."""


class _Scope:
    """A part of the text that is run or not, or whose changes do not leave it."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.before: dict[str, Variable | None] = {}
        """What the names that it changes were when it began."""
        self.results: list[dict[str, Variable | None]] = []
        """What the branches that ended have made of them."""
        self.exhaustive = False
        """Whether one of its branches is run in any case."""
        self.dead = kind == "case"
        """Whether the branch at hand leaves the script; before its first pattern a `case` runs nothing."""
        self.marks = (0, 0)
        """Epoch and number of sourced files when it began."""


class Variables:
    """What is known while a text is read from top to bottom.

    A value that a branch may have set, or not, is not known after it; one that nothing in the text sets is not either.
    """

    def __init__(self, values: dict[str, Variable]) -> None:
        self.values = values
        self.scopes: list[_Scope] = []
        self.beyond = 0
        """Scopes that are open beyond MAX_DEPTH."""
        self.order = 1
        self.epoch = 0
        """What was set before may have been changed by a file that is not read."""
        self.sourced: list[Word] = []
        """Files that were sourced and are not known."""
        self.dotenv: list[Word] = []
        """Those of them that were sourced while all that is set was exported."""
        self.expanded = 0
        self.forgotten = 0

    # ----------------------------------------------------------------------------------------- asking

    def get(self, name: str) -> str | None:
        """Return a variable's value, with what is not known of it hidden; None where nothing in the text sets it."""
        variable = self.values.get(name)
        if variable is None:
            return HIDDEN if self.epoch else None
        if variable.order < self.epoch:
            return HIDDEN
        if variable.elements is not None:
            first = variable.elements[0] if variable.elements else Word("")
            return HIDDEN if first.dynamic else first.text
        return variable.text

    def is_set(self, name: str) -> bool:
        """Return whether a variable has a value, be it an empty one."""
        variable = self.values.get(name)
        return variable is not None and variable.present

    def array(self, name: str) -> tuple[Word, ...] | None:
        """Return an array's elements; one that is `dynamic` stands for elements that only the shell knows."""
        variable = self.values.get(name)
        if variable is None or variable.order < self.epoch or variable.elements is None:
            return None
        if self.expanded > MAX_EXPANDED:
            return None
        self.expanded += sum(len(word.text) + 10 for word in variable.elements)  # a word is more work than a character
        return variable.elements if self.expanded <= MAX_EXPANDED else None

    def element(self, name: str, index: str) -> str:
        """Return one element of an array."""
        elements = self.array(name)
        if elements is None:
            return HIDDEN
        if name == "@" and index.isdigit() and int(index) >= len(elements) and not any(e.dynamic for e in elements):
            return ""
        if not index.isdigit() or any(word.dynamic for word in elements[: int(index) + 1]):
            return HIDDEN
        return elements[int(index)].text if int(index) < len(elements) else HIDDEN

    def keeps(self, name: str, variable: Variable) -> bool:
        """Return whether a variable is what it was when the text began."""
        return self.values.get(name) is variable and not self.epoch

    def spend(self, value: str | None) -> str | None:
        """Return a value that is put into a word, or nothing where the text has put in too much already."""
        self.expanded += len(value or "")
        return value if self.expanded <= MAX_EXPANDED else HIDDEN

    def environment(self) -> dict[str, Word]:
        """Return what a command gets; what may be set or not, or to something else, is `dynamic`."""
        found: dict[str, Word] = {}
        for name, variable in self.values.items():
            if variable.exported is False or not variable.present or name in ("-", "@"):
                continue
            stale = variable.order < self.epoch or HIDDEN in variable.text
            text = variable.text.replace(HIDDEN, f"${name}")
            found[name] = Word(text, *variable.place, stale or variable.exported is None)
        return found

    # ----------------------------------------------------------------------------------------- setting

    def put(self, name: str, variable: Variable | None) -> None:
        """Note what a variable is from here on."""
        for scope in self.scopes[-1:]:
            scope.before.setdefault(name, self.values.get(name))
        if variable is None:
            self.values.pop(name, None)
            return
        if self.beyond or len(variable.text) > MAX_VALUE:
            variable = msgspec.structs.replace(variable, text=HIDDEN, elements=None)
        self.order += 1
        self.values[name] = msgspec.structs.replace(variable, order=self.order)

    def set(self, name: str, text: str, place: tuple[int, int], *, exported: bool | None = None) -> None:
        """Note an assignment; what is exported stays so."""
        if exported is None:
            exported = self._exported(self.values.get(name))
        self.put(name, Variable(text=text, exported=exported, place=place))

    def append(self, name: str, text: str, place: tuple[int, int]) -> None:
        """Note `NAME+=text`."""
        self.set(name, self._before(name) + text, place)

    def set_array(self, name: str, elements: Iterable[Word], *, append: bool) -> None:
        """Note `NAME=(...)` or `NAME+=(...)`."""
        words = tuple(elements)
        open_ = Word("${" + name + "[@]}", dynamic=True)
        if append:
            old = self.values.get(name)
            present = old.elements if old is not None and old.order >= self.epoch else None
            if present is not None and len(present) > MAX_ELEMENTS:
                return
            if present is None:
                present = (Word(old.text),) if old is not None and HIDDEN not in old.text and old.present else (open_,)
            words = (*present, *words)
        if len(words) > MAX_ELEMENTS or self.beyond:
            words = (*words[:MAX_ELEMENTS], open_)
        self.put(name, Variable(elements=words, text=HIDDEN, exported=False))

    def unset(self, name: str) -> None:
        """Note that a variable is removed."""
        self.put(name, Variable(present=False))

    def export(self, word: Word, *, exported: bool) -> None:
        """Note that commands get a variable from here on, or no more; what the text does not set is not known."""
        old = self.values.get(word.text) or Variable(text=HIDDEN, place=(word.line, word.column))
        self.put(word.text, msgspec.structs.replace(old, exported=exported, text=self._before(word.text)))

    def forget(self, name: str, *, appended: str = "", exported: bool = False) -> None:
        """Note that a variable may have been changed. `appended`: by adding to it alone, as words or as characters."""
        self.forgotten += 1
        old = self.values.get(name) or Variable(text=HIDDEN)
        kept = self._exported(old)
        kept = kept if not exported or kept else None
        if appended and old.elements is not None:
            open_ = Word("${" + name + "[@]}", dynamic=True)
            self.put(name, msgspec.structs.replace(old, elements=(*(self.array(name) or ()), open_)))
            return
        text = HIDDEN
        if appended and old.elements is None:
            text = self._before(name) + (f" {HIDDEN} " if appended == "words" else HIDDEN)
        self.put(name, Variable(text=text, exported=kept, place=old.place))

    def forget_all(self) -> None:
        """Note that every variable may have been changed."""
        self.order += 1
        self.epoch = self.order

    def source(self, file: Word) -> None:
        """Note a file that is read here and may set anything."""
        if all(file.text != known.text for known in self.sourced[-20:]):
            self.sourced.append(file)
            if self.get("-") == "a" and not file.dynamic:
                self.dotenv.append(file)
        self.forget_all()

    def _exported(self, variable: Variable | None) -> bool | None:
        """Return whether commands get a variable once it is set: it was exported before, or `set -a` holds."""
        flags = self.get("-")
        if flags == "a" or (variable is not None and variable.exported):
            return True
        return None if flags == HIDDEN else variable is not None and variable.exported

    def _before(self, name: str) -> str:
        before = self.get(name)
        return HIDDEN if before is None else before

    # ----------------------------------------------------------------------------------------- scopes

    def enter(self, kind: str) -> None:
        """Note that a branch, a loop, a function or a subshell starts."""
        if len(self.scopes) >= MAX_DEPTH:
            self.beyond += 1
            return
        scope = _Scope(kind)
        scope.marks = (self.epoch, len(self.sourced))
        self.scopes.append(scope)

    def branch(self, *, last: bool = False) -> None:
        """Note that another branch starts. `last`: it is run where no other one is."""
        if not self.scopes or self.beyond:
            return
        scope = self.scopes[-1]
        self._end_branch(scope)
        scope.exhaustive = scope.exhaustive or last

    def leave(self, *, discard: bool = False) -> None:
        """Note its end. `discard`: what it set does not leave it."""
        if self.beyond:
            self.beyond -= 1
            return
        if not self.scopes:
            return
        scope = self.scopes[-1]
        self._end_branch(scope)
        self.scopes.pop()
        if discard:
            if scope.kind != "group":
                self.epoch = scope.marks[0]
                del self.sourced[scope.marks[1] :]
            return
        if scope.exhaustive and not scope.results and self.scopes:
            self.scopes[-1].dead = True
        for name in {name: True for result in scope.results for name in result}:
            base = self.values.get(name)
            ends = [result.get(name, base) for result in scope.results]
            if not scope.exhaustive:
                ends.append(base)
            end = ends[0]
            for one in ends[1:]:
                end = joined(name, end, one)
            if end is not base:
                self._keep(name, end)

    def inside(self, kinds: frozenset[str]) -> bool:
        """Return whether a scope of one of these kinds is open."""
        return any(scope.kind in kinds for scope in self.scopes)

    def die(self) -> None:
        """Note that the branch at hand leaves the script: what it set does not matter behind it."""
        if self.scopes and not self.beyond:
            self.scopes[-1].dead = True

    def _end_branch(self, scope: _Scope) -> None:
        if not scope.dead:
            scope.results.append({name: self.values.get(name) for name in scope.before})
        for name, variable in scope.before.items():
            if variable is None:
                self.values.pop(name, None)
            else:
                self.values[name] = variable
        scope.before = {}
        scope.dead = False

    def _keep(self, name: str, variable: Variable | None) -> None:
        """Put what a scope has made of a variable, as old as it is."""
        for scope in self.scopes[-1:]:
            scope.before.setdefault(name, self.values.get(name))
        if variable is None:
            self.values.pop(name, None)
        else:
            self.values[name] = variable
