"""Shell text into simple commands with the operators around them; redirections and here-documents are taken off."""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

from compatcheck.launch.model import Word
from compatcheck.launch.shell.heredoc import heredoc_of
from compatcheck.launch.shell.patterns import ARRAY_NAME, CHOICE, HEREDOC, PLACEHOLDER
from compatcheck.launch.shell.words import WordReader

_OPENING = frozenset({"if", "then", "elif", "else", "while", "until", "do", "!", "{"})
"""Keywords behind which a command begins; what they say holds before the next word is read."""
_MAX_HEREDOCS = 10
"""Here-documents of one command."""
_MAX_TEST = 5000
"""Characters between `[[` and `]]`, and between `((` and `))`."""


class Heredoc(msgspec.Struct, frozen=True):
    """The text of a here-document, and where its lines stand. `quoted`: nothing is filled in."""

    text: str
    line: int
    quoted: bool
    starts: tuple[tuple[int, int, int], ...] = ()


class Command(msgspec.Struct, frozen=True):
    """A simple command, or a keyword alone: its words, and the operator behind it, which may be a line's end."""

    words: list[Word]
    plain: list[bool]
    arrays: list[tuple[str, bool, list[Word]]]
    heredocs: list[Heredoc]
    ended: str
    offset: int


class Scanner(WordReader):
    """Reads a text character by character; `run` gives out the commands in order."""

    bracket = False
    """Whether a closing bracket was the last thing that was given out."""
    tried = -_MAX_TEST
    """Where the last `((` stands that nothing closes."""
    heredoc_end = 0
    """Where the here-documents of the line at hand end."""
    test = ""
    """What closes the test at hand: in `[[ ... ]]` the shell's operators are words."""

    def run(self) -> Iterator[Command]:
        """Yield the commands; one without words stands for a bracket, or an operator behind a bracket."""
        self._start_command()
        while self.at < len(self.text):
            char = self._peek()
            if char == "\\":
                self._escape()
            elif char in " \t\r" or (char == "\n" and not self.shell):
                self._word_ends()
                self._next()
                if len(self.words) == 1 and self.plain[0] and self.words[0].text in _OPENING:
                    yield self._command(" ")
            elif char == "\n":
                self._word_ends()
                self._next()
                if (self.words and not self.test) or self.bracket:
                    yield self._command("\n")
                if self.heredoc_end > self.at:
                    self._skip(self.heredoc_end - self.at)
            elif not self.test and self._comment_or_placeholder(char):
                pass
            elif self.test and self.part == [*self.test] and char in ";&|)":
                self._word_ends()
            elif self.test:
                self._begin()
                self._word_part(char)
            elif char in "<>" or (char == "&" and self._peek(1) == ">"):
                self._redirection()
            elif char == "(" and self.open and not self.dynamic and (name := ARRAY_NAME.match("".join(self.part))):
                self._array(name)
            elif char == "(" and self._peek(1) == "(" and self._command_begins() and self._arithmetic():
                pass
            elif char in ";|&()":
                self._word_ends()
                operator = self._next()
                if operator in "|&;" and self._peek() == operator:
                    operator += self._next()
                elif operator in (";", "|") and self._peek() == "&":
                    self._next()
                if operator == ";;" and self._peek() == "&":
                    self._next()
                if self.words or self.bracket or operator != ";":
                    yield self._command(operator)
            else:
                self._begin()
                self._word_part(char)
        self._word_ends()
        if self.words:
            yield self._command("")

    def _start_command(self) -> None:
        self.words = []
        self.plain = []
        self.arrays: list[tuple[str, bool, list[Word]]] = []
        self.heredocs: list[Heredoc] = []
        self.assigning = True
        self.test = ""
        self.offset = self.at

    def _command(self, ended: str) -> Command:
        found = Command(self.words, self.plain, self.arrays, self.heredocs, ended, self.offset)
        self.bracket = ended == ")"
        self._start_command()
        return found

    def _command_begins(self) -> bool:
        tried = 0 <= self.at - self.tried < _MAX_TEST // 2
        return not self.open and not tried and [word.text for word in self.words] in ([], ["for"])

    def _word_ends(self) -> None:
        """End the word at hand, and see whether it is a keyword behind which assignments stand, or a test."""
        text = "".join(self.part) if self.literal and self.open else ""
        before = self.assigning
        if text == "[[" and before and "]]" in self.text[self.at : self.at + _MAX_TEST]:
            self.test = "]]"
        elif text and text == self.test:
            self.test = ""
        self._end_word()
        self.assigning = before and (self.assigning or text in _DECLARING)
        if before and (text in _DECLARING or (text[:1] == "-" and self.words[0].text in _DECLARING)):
            self.assigning = True

    def _comment_or_placeholder(self, char: str) -> bool:
        """Read past a comment, or take a placeholder as a word that only the reader of the text knows."""
        if char == "#" and not self.open and self.shell:
            end = self.text.find("\n", self.at)
            self._skip((end if end >= 0 else len(self.text)) - self.at)
            return True
        match = self._placeholder(char)
        if match is None:
            return False
        self._begin()
        self.dynamic, self.literal = True, False
        self.part.append(match[0])
        self._skip(len(match[0]))
        return True

    def _placeholder(self, char: str) -> re.Match[str] | None:
        if char == "<":
            return PLACEHOLDER.match(self.text, self.at)
        fresh = not self.open or (self.part and self.part[-1] == "=")
        return CHOICE.match(self.text, self.at) if char in "[{" and fresh else None

    def _array(self, name: re.Match[str]) -> None:
        """Read `NAME=(...)` or `NAME+=(...)`; its words are kept as elements, with their own places."""
        outer, plain, start = self.words, self.plain, self.start
        self.words, self.plain = [], []
        self._fresh()
        self._next()
        self.assigning = False
        while self._peek() not in (")", ""):
            char = self._peek()
            if char == "\\":
                self._escape()
            elif char in " \t\r\n":
                self._end_word()
                self._next()
            elif self._comment_or_placeholder(char):
                pass
            else:
                self._begin()
                self._word_part(char)
        self._end_word()
        self._skip(1)
        self.arrays.append((name[1], bool(name[2]), self.words))
        self.words, self.plain, self.assigning = outer, plain, True
        self.part, self.open, self.start = [f"{name[0]}(...)"], True, start
        self._end_word()

    def _arithmetic(self) -> bool:
        """Read `((...))` as two words, of which the second holds what is computed."""
        end = self.text.find("))", self.at, self.at + _MAX_TEST)
        if end < 0:
            self.tried = self.at
            return False
        place = self._place()
        inside = self._skip(end + 2 - self.at)[2:-2]
        self.words += [Word("((", *place), Word(inside, *place)]
        self.plain += [False, False]
        return True

    # ---------------------------------------------------------------------------------- redirections

    def _redirection(self) -> None:
        """Skip `> file`, `2>&1`, `<<EOF`; the words of a command never hold them."""
        if self._peek(1) == "(" and self._peek() in "<>":
            self._begin()
            start = self.at
            self._next()
            self._balanced("(", ")")
            self.dynamic, self.literal = True, False
            self.part.append(self.text[start : self.at])
            return
        if self.open and self.literal and "".join(self.part).isdigit():
            self._fresh()
        self._word_ends()
        heredoc = HEREDOC.match(self.text, self.at)
        if heredoc:
            self._skip(len(heredoc[0]))
            if len(self.heredocs) < _MAX_HEREDOCS:
                self._heredoc(heredoc)
            return
        while self._peek() and self._peek() in "<>&|":
            self._next()
        while self._peek() and self._peek() in " \t":
            self._next()
        if self._peek() in ("<", ">") and self._peek(1) == "(":
            self._next()
            self._balanced("(", ")")
            return
        words, plain, assigning = len(self.words), len(self.plain), self.assigning
        while self._peek() and self._peek() not in " \t\r\n;|&()<>":
            if self._peek() == "\\":
                self._escape()
            else:
                self._begin()
                self._word_part(self._peek())
        self._fresh()
        del self.words[words:], self.plain[plain:]
        self.assigning = assigning

    def _heredoc(self, match: re.Match[str]) -> None:
        """Take the text of a here-document, which begins behind the line at hand."""
        span = heredoc_of(self.text, match, max(self.heredoc_end, self.at))
        begin = span.begin
        line = self.line + self.text.count("\n", self.at, begin)
        starts = tuple((max(0, o - begin), row, column) for o, row, column in self.starts if begin <= o < span.close)
        quoted = match[4] is None or "\\" in match[0]
        self.heredocs.append(Heredoc(self.text[begin : span.close], line, quoted, starts))
        self.heredoc_end = span.end


_DECLARING = frozenset({"export", "declare", "local", "readonly", "typeset"})
