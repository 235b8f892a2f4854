"""What loops and functions of a shell text change, known before the text is read from its top."""

from __future__ import annotations

import re
from bisect import bisect_right

from compatcheck.launch.model import Word
from compatcheck.launch.programs import WRAPPERS
from compatcheck.launch.shell.flow import FUNCTIONS, walk
from compatcheck.launch.shell.patterns import ASSIGNED
from compatcheck.launch.shell.scanner import Scanner
from compatcheck.launch.shell.setters import Change, changes_of
from compatcheck.launch.shell.variables import MAX_DEPTH, Variables

SET = "set"
WORDS = "words"
CHARACTERS = "characters"
"""How a name is changed: set anew, or only added to, as words or as characters."""
MAX_CALLED = 100
"""Functions that call each other in turn."""
_ALL_ARGUMENTS = re.compile(r"\$[@*]|\$\{[@*](?::[0-9]+)?\}")
_STRENGTH = {WORDS: 0, CHARACTERS: 1, SET: 2}


class Part:
    """The names that a loop or a function changes, and the commands in it, which may be functions."""

    def __init__(self, name: str = "") -> None:
        self.name = name
        self.names: dict[str, str] = {}
        self.local: set[str] = set()
        self.calls: set[str] = set()
        self.sourced: list[Word] = []
        self.everything = False
        """Whether it changes variables of which nobody knows the names."""
        self.runs = False
        """Whether it runs its arguments as a command."""
        self.adds = False
        """Whether it does so with words of its own."""

    def add(self, name: str, how: str) -> None:
        """Note a change of a name; the strongest counts."""
        present = self.names.get(name)
        if present is None or _STRENGTH[how] > _STRENGTH[present]:
            self.names[name] = how

    def take(self, other: Part) -> None:
        """Note what another part changes, which stands in this one or is the same function defined again."""
        for name, how in other.names.items():
            self.add(name, how)
        self.calls |= other.calls
        self.sourced += other.sourced[:1]
        self.everything = self.everything or other.everything
        self.runs = self.runs or other.runs
        self.adds = self.adds or other.adds


class Survey:
    """The loops of a text by their place, its functions by their name, and where each name is changed last."""

    def __init__(self) -> None:
        self.loops: dict[int, Part] = {}
        self.functions: dict[str, Part] = {}
        self.given: set[str] = set()
        """Commands, of which some are functions, that get arguments other than the script's own."""
        self.prefixed: set[str] = set()
        """Variables that stand in front of a call of a function."""
        self.exported: set[str] = set()
        self.all_exported = False
        self.last: dict[str, int] = {}
        self._parts: list[tuple[int, Part]] = []
        self._beyond = 0
        self._ordered: list[tuple[int, str]] = []
        self._offset = 0
        self._prefixes: list[tuple[str, list[str]]] = []

    def enter(self, kind: str, offset: int, words: list[Word]) -> None:
        """Note that a scope starts."""
        self._offset = offset
        if len(self._parts) >= MAX_DEPTH:
            self._beyond += 1
            return
        self._parts.append((offset, Part(words[0].text if words and kind in FUNCTIONS else "")))
        if kind == "loop" and len(words) > 1:
            for change in changes_of(words[1:], ()):
                self._note(change.name, SET)
            self._note(words[1].text, SET)

    def branch(self, *, last: bool) -> None:
        """Branches make no difference here."""

    def leave(self, kind: str, *, discard: bool) -> None:
        """Note the end of a scope: what it changes, what is around it changes too."""
        if self._beyond:
            self._beyond -= 1
            return
        offset, part = self._parts.pop()
        if kind in FUNCTIONS:
            for name in part.local:
                part.names.pop(name, None)
            self.functions.setdefault(part.name, Part(part.name)).take(part)
            return
        if kind == "loop":
            self.loops[offset] = part
        if self._parts and kind != "subshell":
            self._parts[-1][1].take(part)

    def asks(self, name: str) -> bool:
        """Nothing is asked here."""
        return False

    def learn(self, words: list[Word], changes: list[Change], offset: int) -> None:
        """Note what one command changes."""
        self._offset = offset
        at = next((i for i, word in enumerate(words) if ASSIGNED.match(word.text) is None), len(words))
        head = words[at].text if at < len(words) else ""
        if self._parts:
            self._parts[-1][1].calls.add(head)
            self._run_by(words, head)
        if [word.text for word in words[at + 1 :]] not in ([], ["$@"]):
            self.given.add(head)
        if at and head:
            self._prefixes.append((head, [word.text.partition("=")[0] for word in words[:at]]))
        for change in changes:
            if change.kind == "local":
                for _, part in self._parts[-1:]:
                    if part.name and change.name not in part.names:  # set before, or in a branch, it may be global
                        part.local.add(change.name)
            elif change.kind == "all":
                for _, part in self._parts[-1:]:
                    part.everything = True
            elif change.kind == "source":
                for _, part in self._parts[-1:]:
                    part.sourced.append(change.word)
            else:
                if change.kind == "export" or change.exported:
                    self.exported.add(change.name)
                self.all_exported = self.all_exported or (change.name == "-" and change.text == "a")
                self._note(change.name, _how(change))

    def _run_by(self, words: list[Word], head: str) -> None:
        """Note whether a command is made of the arguments of the function that it stands in: `"$@"`, `exec "$@"`."""
        at = next((i for i, word in enumerate(words) if _ALL_ARGUMENTS.fullmatch(word.text)), None)
        if at is not None and (words[at].text == head or head == "eval" or head.rsplit("/", 1)[-1] in WRAPPERS):
            part = self._parts[-1][1]
            part.runs = True
            part.adds = part.adds or at + 1 < len(words) or any("=" in w.text or w.dynamic for w in words[:at])

    def _note(self, name: str, how: str) -> None:
        self.last[name] = self._offset
        for _, part in self._parts[-1:]:
            part.add(name, how)

    def finish(self) -> None:
        """Put the names in the order in which they are changed last."""
        self.prefixed = {name for head, names in self._prefixes if head in self.functions for name in names}
        self._ordered = sorted((offset, name) for name, offset in self.last.items())

    def exports(self, part: Part) -> bool:
        """Return whether a part may change a variable that commands get."""
        return bool(part.names) and (self.all_exported or not self.exported.isdisjoint(part.names))

    def changed_after(self, offset: int, most: int) -> list[str] | None:
        """Return the names that are changed behind a place; None where they are more than `most`."""
        first = bisect_right(self._ordered, (offset, ""))
        return None if len(self._ordered) - first > most else [name for _, name in self._ordered[first:]]

    def called(self, names: set[str]) -> list[Part] | None:
        """Return the functions that these commands are, with those that they call in turn; None where they are many."""
        found: dict[str, Part] = {}
        waiting = [name for name in names if name in self.functions]
        while waiting:
            name = waiting.pop()
            if name not in found:
                found[name] = self.functions[name]
                waiting += [one for one in found[name].calls if one in self.functions]
            if len(found) > MAX_CALLED:
                return None
        return list(found.values())


def _how(change: Change) -> str:
    if change.kind == "append-array":
        return WORDS
    if change.kind == "append":
        return WORDS if change.text[:1].isspace() else CHARACTERS
    own = next((o for o in (f"${change.name}", "${" + change.name + "}") if change.word.text.startswith(o)), None)
    if change.kind != "set" or own is None:
        return SET
    rest = change.word.text[len(own) :]
    return WORDS if rest[:1].isspace() else CHARACTERS if not rest[:1].isalnum() and rest[:1] != "_" else SET


def survey(text: str) -> Survey:
    """Return what a text changes where."""
    found = Survey()
    for words, command in walk(Scanner(text, 1, 1, Variables({})), found):
        found.learn(words, changes_of(words, command.arrays), command.offset)
    found.finish()
    return found
