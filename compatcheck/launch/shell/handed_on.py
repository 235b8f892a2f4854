"""The text of a here-document as a shell hands it on: variables filled in, escapes taken off, unless it is quoted."""

from __future__ import annotations

import re

from compatcheck.launch.model import Word
from compatcheck.launch.placeholders import Edit, edited, veil
from compatcheck.launch.shell.scanner import Heredoc
from compatcheck.launch.shell.variables import Variables
from compatcheck.launch.shell.words import WordReader

_SPECIAL = re.compile(r"[\\$`]")


def handed_on(heredoc: Heredoc, variables: Variables) -> Word:
    """Return the text with its places; what only the shell knows is veiled, so that no variable in it is taken."""
    text = heredoc.text
    ends = [0, *(match.end() for match in re.finditer("\n", text))]
    starts = heredoc.starts or tuple((at, number, 1) for number, at in enumerate(ends, heredoc.line))
    word = Word(text, heredoc.line, 1, starts=starts)
    return word if heredoc.quoted else edited(word, _edits(text, variables))


def _edits(text: str, variables: Variables) -> list[Edit]:
    reader = _Reader(text, 1, 1, variables, nested=1)
    found: list[Edit] = []
    while (match := _SPECIAL.search(text, reader.at)) is not None:
        start = reader.at = match.start()
        value = reader.handed_on(match[0])
        if value != text[start : reader.at]:
            found.append((start, reader.at, value))
    return found


class _Reader(WordReader):
    """Reads the expansions of a here-document, one at a time."""

    def handed_on(self, char: str) -> str:
        """Return what stands in place of what begins with a character at the place at hand, and go behind it."""
        start = self.at
        if char == "\\":
            self._skip(2)
            written = self.text[start : self.at]
            return written[1:] if written[1:] in ("$", "`", "\\") else written
        self.words, self.plain = [], []
        self._fresh()
        if char == "$":
            self._dollar(quoted=True)
        else:
            self._backquoted()
        if self.dynamic or any(word.dynamic for word in self.words):
            return veil(self.text[start : self.at])
        return " ".join([*(word.text for word in self.words), "".join(self.part)])
