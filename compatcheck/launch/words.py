"""Shell text into commands of words, each with its place. Nothing is run: what a shell would compute stays unknown.

Quotes, escapes, line continuations, comments, redirections, here-documents and variables that the text itself sets are
understood; command substitutions and variables that it does not set give a word that is marked `dynamic`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from compatcheck.launch.model import Word

MAX_TEXT = 1_000_000
"""Characters; a launch script is a few hundred lines."""
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_BRACED = re.compile(r"\{([A-Za-z_][A-Za-z0-9_]*)(?:(:?[-=?+])([^{}]*))?\}")
_PLACEHOLDER = re.compile(r"<[A-Za-z][\w .:/|-]*>")
_HEREDOC = re.compile(r"<<-?\s*(['\"]?)([A-Za-z_]\w*)\1")
_ASSIGNMENT = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)=", re.S)
_OPENERS = frozenset({"if", "for", "while", "until", "case"})
_CLOSERS = frozenset({"fi", "done", "esac"})
_LEADERS = frozenset({"then", "else", "elif", "do", "{", "(", "!"}) | _OPENERS


def commands(
    text: str, line: int = 1, column: int = 1, variables: dict[str, str] | None = None, indent: int = 0
) -> Iterator[list[Word]]:
    """Yield the simple commands of a shell text in order, each as its words.

    `line` and `column` are the place of the text's first character; every later line starts `indent` columns in.
    Variables that the text assigns are filled in
    where they are used later; one that a branch may have set differently is not.
    """
    state = _Variables(dict(variables or {}))
    for words in _Scanner(text[:MAX_TEXT], line, column, state, indent).run():
        while words and words[0].text in _CLOSERS | _LEADERS and not words[0].dynamic:
            state.depth += (words[0].text in _OPENERS) - (words[0].text in _CLOSERS)
            words = words[1:]
        state.learn(words)
        if words:
            yield words


def assignment(word: Word) -> tuple[str, Word] | None:
    """Return the name and value of `NAME=value`, or None."""
    match = _ASSIGNMENT.match(word.text)
    if match is None:
        return None
    value = Word(word.text[match.end() :], word.line, word.column + match.end(), word.dynamic)
    return match[1], value


class _Variables:
    def __init__(self, values: dict[str, str]) -> None:
        self.values = values
        self.unsure: set[str] = set()
        self.depth = 0

    def learn(self, words: list[Word]) -> None:
        """Note what a command that only assigns (`A=1 B=2`, `export A=1`) sets."""
        rest = words[1:] if words and words[0].text in ("export", "declare", "local", "readonly") else words
        pairs = [assignment(word) for word in rest]
        if not pairs or any(pair is None for pair in pairs):
            return
        for pair in pairs:
            assert pair is not None
            name, value = pair
            if value.dynamic or (self.depth > 0 and self.values.get(name, value.text) != value.text):
                self.values.pop(name, None)
                self.unsure.add(name)
            elif self.depth == 0 or name not in self.unsure:
                self.values[name] = value.text
                self.unsure.discard(name)

    def get(self, name: str, default: str | None) -> str | None:
        if name in self.unsure:
            return None
        return self.values.get(name, default)


class _Scanner:
    def __init__(self, text: str, line: int, column: int, variables: _Variables, indent: int) -> None:
        self.text = text
        self.at = 0
        self.line = line
        self.column = column
        self.indent = indent
        self.variables = variables
        self.heredocs: list[str] = []
        self.words: list[Word] = []
        self.part: list[str] = []
        self.open = False
        self.dynamic = False
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
            self.column = 1 + self.indent
        else:
            self.column += 1
        return char

    def _skip(self, count: int) -> None:
        for _ in range(min(count, len(self.text) - self.at)):
            self._next()

    def _begin(self) -> None:
        if not self.open:
            self.open = True
            self.start = (self.line, self.column)

    def _end_word(self) -> None:
        if self.open:
            self.words.append(Word("".join(self.part), *self.start, self.dynamic, self.indent))
        self.part, self.open, self.dynamic = [], False, False

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
                self._skip_heredocs()
            elif char == "#" and not self.open:
                while self._peek() not in ("\n", ""):
                    self._next()
            elif char == "<" and (match := _PLACEHOLDER.match(self.text, self.at)):
                self._begin()
                self.dynamic = True
                self.part.append(match[0])
                self._skip(len(match[0]))
            elif char in "<>":
                self._redirection()
            elif char in ";|&()":
                words = self._end_command()
                self._next()
                if words:
                    yield words
            else:
                self._begin()
                self._word_part(char)
        words = self._end_command()
        if words:
            yield words

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
            self._skip(1)
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
        self._skip(1)

    def _dollar(self, *, quoted: bool) -> None:
        if self._peek(1) == "(":
            self._substitution()
            return
        braced = _BRACED.match(self.text, self.at + 1)
        plain = _NAME.match(self.text, self.at + 1)
        if braced is None and plain is None:
            self.dynamic = self.dynamic or self._peek(1) in tuple("{@*#?0123456789")
            self.part.append(self._next())
            return
        match = braced or plain
        assert match is not None
        name = match[1] if braced else match[0]
        default = match[3] if braced and (match[2] or "").lstrip(":") in ("-", "=") else None
        value = self.variables.get(name, default)
        self._skip(match.end() - self.at)
        if value is None:
            self.dynamic = True
            self.part.append(f"${name}")
        elif quoted or not value.split():
            self.part.append(value)
        else:
            pieces = value.split()
            start = self.start
            for piece in pieces[:-1]:
                self.part.append(piece)
                self._end_word()
                self.open, self.start = True, start
            self.part.append(pieces[-1])

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
        heredoc = _HEREDOC.match(self.text, self.at)
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
