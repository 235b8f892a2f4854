"""The text between brackets, `$(...)` and `${...}`: quotes, comments, here-documents and `case` hide brackets."""

from __future__ import annotations

import re

from compatcheck.launch.shell.cursor import Cursor
from compatcheck.launch.shell.heredoc import heredoc_of
from compatcheck.launch.shell.patterns import HEREDOC, UNBRACKETED

MAX_NESTED = 20
"""Expansions inside expansions that are followed."""
_CASE = re.compile(r"(?<![\w-])(?:case|esac)\b")


class BracketReader(Cursor):
    """Finds the bracket that closes one."""

    def __init__(
        self, text: str, line: int, column: int, starts: tuple[tuple[int, int, int], ...], nested: int = 0
    ) -> None:
        super().__init__(text, line, column, starts)
        self.nested = nested
        """How many expansions stand around the one at hand."""

    def _balanced(self, opener: str, closer: str) -> str:
        """Read to the bracket that closes the one at hand; quotes hide brackets. To the end where there is none."""
        start = self.at
        depth = 0
        cases: list[int] = []
        """How deep the `case` stand that are open; the brackets behind their patterns close nothing."""
        while self._peek():
            run = UNBRACKETED.match(self.text, self.at)
            if run is not None:
                self._skip(len(run[0]))
                continue
            char = self._next()
            if char == "\\":
                self._skip(1)
            elif char == '"':
                self._skip_quoted()
            elif opener == "(" and (skipped := self._skipped(char)):
                self._skip(skipped)
            elif opener == "(" and char in "ce" and (word := _CASE.match(self.text, self.at - 1)) is not None:
                cases = [*cases, depth] if word[0] == "case" else cases[:-1]
                self._skip(3)
            elif char == closer and cases and depth == cases[-1]:
                continue
            depth += (char == opener) - (char == closer)
            if depth == 0:
                break
        return self.text[start : self.at]

    def _skipped(self, char: str) -> int:
        """Return how long a quotation, a comment or a here-document inside `$(...)` is, its first character read."""
        end = -1
        if char == "'":
            end = self.text.find("'", self.at) + 1 or len(self.text)
        elif char == "#" and self.text[self.at - 2].isspace():
            end = self.text.find("\n", self.at)
            end = end if end >= 0 else len(self.text)
        elif char == "<" and (match := HEREDOC.match(self.text, self.at - 1)) is not None:
            end = heredoc_of(self.text, match, match.end()).end
        return max(0, end - self.at)

    def _skip_quoted(self) -> None:
        """Skip to the quote that closes the one that was read."""
        while self._peek() not in ('"', ""):
            if self._peek() == "\\":
                self._skip(2)
            elif self._peek() == "$" and self._peek(1) in ("(", "{") and self.nested < MAX_NESTED:
                self.nested += 1
                self._next()
                self._balanced(self._peek(), {"(": ")", "{": "}"}[self._peek()])
                self.nested -= 1
            else:
                self._next()
        self._skip(1)
