"""The words of shell text: quotes, escapes and what holds a word together, each word with its place."""

from __future__ import annotations

import re
from abc import abstractmethod

from compatcheck.launch.model import Word
from compatcheck.launch.shell.brackets import BracketReader
from compatcheck.launch.shell.patterns import ASSIGNED, ELLIPSES, IN_QUOTES, ORDINARY, UNCLOSED
from compatcheck.launch.shell.variables import Variables

_ESCAPED = re.compile(r"\\(.)", re.S)
_ESCAPES = {"n": "\n", "t": "\t", "'": "'", '"': '"', "r": "\r"}


class QuoteReader(BracketReader):
    """Reads words; what only the shell knows is marked in them."""

    shell = True
    """Whether a shell reads the text; other programs that split one know no comments and no continued lines."""

    def __init__(
        self,
        text: str,
        line: int,
        column: int,
        variables: Variables,
        starts: tuple[tuple[int, int, int], ...] = (),
        nested: int = 0,
    ) -> None:
        super().__init__(text, line, column, starts, nested)
        self.variables = variables
        self.words: list[Word] = []
        self.plain: list[bool] = []
        """For each word whether it stands in the text as it is, as keywords do."""
        self.assigning = True
        """Whether nothing but assignments stands before the word at hand; their values are not split."""
        self._fresh()
        self.start = (line, column)

    def _fresh(self) -> None:
        self.part: list[str] = []
        self.open = self.dynamic = False
        self.literal = True
        self.gone = False
        """Whether the word at hand holds an array without elements: with nothing else in it, it is no word."""
        self.braces = 0
        """1 after an open brace, 2 after a comma in it: the shell makes several words of it, as of `{1..3}`."""

    def _begin(self) -> None:
        if not self.open:
            self.open = True
            self.start = self._place()

    def _end_word(self) -> None:
        text = "".join(self.part)
        if self.open and not (self.gone and not text):
            self.words.append(Word(text, *self.start, self.dynamic or text in ELLIPSES))
            self.plain.append(self.literal)
            self.assigning = self.assigning and ASSIGNED.match(text) is not None
        self._fresh()

    def _escape(self) -> None:
        if self.shell and (self._peek(1) == "\n" or (self._peek(1) == "\r" and self._peek(2) == "\n")):
            self._skip(2 if self._peek(1) == "\n" else 3)
            return
        self._begin()
        self._next()
        self.literal = False
        if self._peek():
            self.part.append(self._next())

    def _word_part(self, char: str) -> None:
        if char in "'\"$`":
            self.literal = False
        if char == "'":
            self._next()
            self._quoted_until("'")
        elif char == '"':
            self._double_quoted()
        elif char == "$" and self._peek(1) == '"':
            self._next()  # a text that may be translated
            self._double_quoted()
        elif char == "$" and self._peek(1) == "'":
            self._skip(2)
            self._quoted_until("'", escapes=True)
        elif char == "$":
            self._dollar(quoted=False)
        elif char == "`":
            self._backquoted()
        elif char in "{,}":
            self.braces = 1 if char == "{" else 2 if char == "," and self.braces else self.braces
            if self.shell and char == "}" and self.braces and (self.braces == 2 or ".." in self.part[-1]):
                self.dynamic = True
            self.part.append(self._next())
        else:
            run = ORDINARY.match(self.text, self.at)
            self.part.append(self._skip(len(run[0])) if run is not None else self._next())

    def _quoted_until(self, quote: str, *, escapes: bool = False) -> None:
        start = self.at
        while self._peek() not in (quote, ""):
            end = self.text.find(quote, self.at)
            plain = (end if end >= 0 else len(self.text)) - self.at
            self._skip(2 if escapes and self._peek() == "\\" else 1 if escapes else plain)
        text = self.text[start : self.at]
        if escapes and "\\" in text:
            text = _ESCAPED.sub(lambda match: _ESCAPES.get(match[1], match[0]), text)
            self.dynamic = self.dynamic or _ESCAPED.search(text) is not None
        self.part.append(text)
        self._close()

    def _double_quoted(self) -> None:
        self._next()
        while self._peek() not in ('"', ""):
            char = self._peek()
            if char == "\\" and self._peek(1) in ('"', "\\", "$", "`"):
                self._next()
                self.part.append(self._next())
            elif char == "\\" and self._peek(1) == "\n":
                self._skip(2 if self.shell else 1)
            elif char == "$":
                self._dollar(quoted=True)
            elif char == "`":
                self._backquoted()
            else:
                run = IN_QUOTES.match(self.text, self.at)
                self.part.append(self._skip(len(run[0])) if run is not None else self._next())
        self._close()

    def _close(self) -> None:
        """Skip the closing quote; without one the shell waits for more, and what the word is stays open."""
        self.dynamic = self.dynamic or not self._peek()
        if not self._peek():
            self.part.append(UNCLOSED)
        self._skip(1)

    def _backquoted(self) -> None:
        self.dynamic = True
        start = self.at
        self._next()
        while self._peek() not in ("`", ""):
            self._skip(2 if self._peek() == "\\" else 1)
        self._skip(1)
        self.part.append(self.text[start : self.at])

    @abstractmethod
    def _dollar(self, *, quoted: bool) -> None:
        """Read the expansion at hand."""
