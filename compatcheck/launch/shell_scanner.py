"""Shell text character by character: quotes, escapes, continuations, expansions; each word has its place."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator

from compatcheck.launch.model import Word
from compatcheck.launch.shell_patterns import (
    ARRAY,
    ARRAY_NAME,
    BRACED,
    CHOICE,
    ELLIPSES,
    HEREDOC,
    HIDDEN,
    NAME,
    PLACEHOLDER,
    UNCLOSED,
)
from compatcheck.launch.shell_variables import Variables


class Scanner:
    """Reads a text character by character; `run` gives out the commands in order."""

    def __init__(
        self, text: str, line: int, column: int, variables: Variables, starts: tuple[tuple[int, int, int], ...]
    ) -> None:
        self.text = text
        self.at = 0
        self.line = line
        self.column = column
        self.starts = starts
        self.variables = variables
        self.joined = ""
        """The operator before the command that was given out last."""
        self.arrays: list[tuple[str, bool, list[Word]]] = []
        """Arrays that this command sets: name, whether it adds to them, elements."""
        self.heredocs: list[str] = []
        self.words: list[Word] = []
        self.part: list[str] = []
        self.open = False
        self.dynamic = False
        self.gone = False
        """Whether the word at hand holds an array without elements: with nothing else in it, it is no word."""
        self.start = (line, column)

    # --------------------------------------------------------------------------------------- moving

    def _peek(self, ahead: int = 0) -> str:
        index = self.at + ahead
        return self.text[index] if index < len(self.text) else ""

    def _next(self) -> str:
        char = self.text[self.at]
        self.at += 1
        if char == "\n":
            self.line += 1
            self.column = 1
        else:
            self.column += 1
        return char

    def _skip(self, count: int) -> None:
        for _ in range(min(count, len(self.text) - self.at)):
            self._next()

    def _place(self) -> tuple[int, int]:
        if not self.starts:
            return self.line, self.column
        offset, line, column = self.starts[max(0, bisect_right(self.starts, self.at, key=lambda s: s[0]) - 1)]
        return line, column + max(0, self.at - offset)

    def _begin(self) -> None:
        if not self.open:
            self.open = True
            self.start = self._place()

    def _end_word(self) -> None:
        text = "".join(self.part)
        if self.open and not (self.gone and not text):
            self.words.append(Word(text, *self.start, self.dynamic or text in ELLIPSES))
        self.part, self.open, self.dynamic, self.gone = [], False, False, False

    def _end_command(self) -> list[Word]:
        self._end_word()
        words, self.words = self.words, []
        return words

    # --------------------------------------------------------------------------------------- scanning

    def run(self) -> Iterator[list[Word]]:
        while self.at < len(self.text):
            char = self._peek()
            if char == "\\":
                self._escape()
            elif char in " \t\r":
                self._end_word()
                self._next()
            elif char == "\n":
                words = self._end_command()
                self._next()
                if words:
                    yield words
                    self.joined = ""
                self._skip_heredocs()
            elif self._comment_or_placeholder(char):
                pass
            elif char in "<>":
                self._redirection()
            elif char == "(" and self.open and (name := ARRAY_NAME.match("".join(self.part))) and not self.dynamic:
                self._array(name)
            elif char in ";|&()":
                words = self._end_command()
                operator = self._next()
                if operator in "|&" and self._peek() == operator:
                    operator += self._next()
                if words:
                    yield words
                if words or operator != ")":
                    self.joined = operator
            else:
                self._begin()
                self._word_part(char)
        words = self._end_command()
        if words:
            yield words

    def _comment_or_placeholder(self, char: str) -> bool:
        """Read past a comment, or take a placeholder as a word that only the reader of the text knows."""
        if char == "#" and not self.open:
            while self._peek() not in ("\n", ""):
                self._next()
            return True
        match = self._placeholder(char)
        if match is None:
            return False
        self._begin()
        self.dynamic = True
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
        outer, start = self.words, self.start
        self.words, self.part, self.open = [], [], False
        self._next()
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
        self.words = outer
        self.part, self.open, self.start = [f"{name[0]}(...)"], True, start
        self._end_word()

    def _escape(self) -> None:
        if self._peek(1) == "\n" or (self._peek(1) == "\r" and self._peek(2) == "\n"):
            self._skip(2 if self._peek(1) == "\n" else 3)
            return
        self._begin()
        self._next()
        if self._peek():
            self.part.append(self._next())

    def _word_part(self, char: str) -> None:
        if char == "'":
            self._next()
            while self._peek() not in ("'", ""):
                self.part.append(self._next())
            self._close()
        elif char == '"':
            self._double_quoted()
        elif char == "$":
            self._dollar(quoted=False)
        elif char == "`":
            self._next()
            self.dynamic = True
            self.part.append("`")
            while self._peek() not in ("`", ""):
                self.part.append(self._next())
            self._skip(1)
        else:
            self.part.append(self._next())

    def _double_quoted(self) -> None:
        self._next()
        while self._peek() not in ('"', ""):
            char = self._peek()
            if char == "\\" and self._peek(1) in ('"', "\\", "$", "`"):
                self._next()
                self.part.append(self._next())
            elif char == "\\" and self._peek(1) == "\n":
                self._skip(2)
            elif char == "$":
                self._dollar(quoted=True)
            else:
                self.part.append(self._next())
        self._close()

    def _close(self) -> None:
        """Skip the closing quote; without one the shell waits for more, and what the word is stays open."""
        self.dynamic = self.dynamic or not self._peek()
        if not self._peek():
            self.part.append(UNCLOSED)
        self._skip(1)

    def _dollar(self, *, quoted: bool) -> None:
        if self._peek(1) == "(":
            self._substitution()
            return
        array = ARRAY.match(self.text, self.at + 1)
        if array is not None:
            self._expand(array, quoted=quoted)
            return
        braced = BRACED.match(self.text, self.at + 1)
        plain = NAME.match(self.text, self.at + 1)
        if braced is None and plain is None:
            self.dynamic = self.dynamic or self._peek(1) in tuple("{@*#?0123456789")
            self.part.append(self._next())
            return
        match = braced or plain
        assert match is not None
        name = match[1] if braced else match[0]
        default = match[3] if braced and (match[2] or "").lstrip(":") in ("-", "=") else None
        if default is not None and len(default) > 1 and default[0] == default[-1] and default[0] in "'\"":
            default = default[1:-1]
        value = self.variables.get(name, default)
        self._skip(match.end() - self.at)
        if value is None:
            self.dynamic = True
            self.part.append(f"${name}")
        elif quoted or not value.split():
            self.gone = self.gone or not quoted  # an empty value without quotes is no word at all
            self._known(name, value if quoted else "")
        else:
            pieces = value.split()
            start = self.start
            for piece in pieces[:-1]:
                self._known(name, piece)
                self._end_word()
                self.open, self.start = True, start
            self._known(name, pieces[-1])

    def _known(self, name: str, value: str) -> None:
        """Put a value, or a piece of it, in place of its variable; what is hidden in it stays open."""
        self.dynamic = self.dynamic or HIDDEN in value
        self.part.append(value.replace(HIDDEN, f"${name}"))

    def _expand(self, match: re.Match[str], *, quoted: bool) -> None:
        """Put an array's elements in place of `${NAME[@]}`, each as a word of its own."""
        elements = self.variables.array(match[1])
        self._skip(match.end() - self.at)
        if elements is None:
            self.dynamic = True
            self.part.append("${" + match[1] + "[@]}")
            return
        self.gone = self.gone or not elements
        pieces = elements if quoted else [e for e in elements if e.dynamic or e.text]
        for index, element in enumerate(pieces):
            if index:
                self._end_word()
            if not "".join(self.part):
                self.start = (element.line, element.column) if not element.dynamic else self.start
            self.open = True
            self.dynamic = self.dynamic or element.dynamic
            self.part.append(element.text)

    def _substitution(self) -> None:
        self.dynamic = True
        depth = 0
        while self._peek():
            char = self._next()
            self.part.append(char)
            depth += (char == "(") - (char == ")")
            if char == ")" and depth == 0:
                return

    def _redirection(self) -> None:
        """Skip `> file`, `2>&1`, `<<EOF`; the words of a command never hold them."""
        heredoc = HEREDOC.match(self.text, self.at)
        if self.open and "".join(self.part).isdigit():
            self.part, self.open = [], False
        self._end_word()
        if heredoc:
            self.heredocs.append(heredoc[2])
            self._skip(len(heredoc[0]))
            return
        while self._peek() and self._peek() in "<>&|":
            self._next()
        while self._peek() and self._peek() in " \t":
            self._next()
        while self._peek() and self._peek() not in " \t\n;|&":
            self._next()

    def _skip_heredocs(self) -> None:
        for end in self.heredocs:
            while self._peek():
                start = self.at
                while self._peek() not in ("\n", ""):
                    self._next()
                found = self.text[start : self.at].strip() == end
                self._skip(1)
                if found:
                    break
        self.heredocs = []
