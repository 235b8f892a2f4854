"""The words of shell text: quotes, escapes and expansions, each word with its place."""

from __future__ import annotations

import re

from compatcheck.launch.model import Word
from compatcheck.launch.shell_brackets import MAX_NESTED, BracketReader
from compatcheck.launch.shell_patterns import (
    ASSIGNED,
    ELLIPSES,
    FALLBACK,
    HIDDEN,
    IN_QUOTES,
    NAME,
    ORDINARY,
    PARAMETER,
    UNCLOSED,
    UNKNOWN_PART,
)
from compatcheck.launch.shell_variables import Variables

MAX_BRACED = 10_000
"""Characters of `${...}`; of a longer one nothing is known."""

_ESCAPED = re.compile(r"\\(.)", re.S)
_ESCAPES = {"n": "\n", "t": "\t", "'": "'", '"': '"', "r": "\r"}


class WordReader(BracketReader):
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
        """1 after an open brace, 2 after a comma in it: with its end the shell makes several words of it."""

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
        elif char == "$" and self._peek(1) == "'":
            self._skip(2)
            self._quoted_until("'", escapes=True)
        elif char == "$":
            self._dollar(quoted=False)
        elif char == "`":
            self._backquoted()
        elif char in "{,}":
            self.braces = 1 if char == "{" else 2 if char == "," and self.braces else self.braces
            self.dynamic = self.dynamic or (char == "}" and self.braces == 2 and self.shell)
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

    # ------------------------------------------------------------------------------------ expansions

    def _dollar(self, *, quoted: bool) -> None:
        if self._peek(1) == "(":
            self.dynamic = True
            self._next()
            self.part.append("$" + self._balanced("(", ")"))
        elif self._peek(1) == "[":
            self.dynamic = True
            self._next()
            self.part.append("$" + self._balanced("[", "]"))
        elif self._peek(1) == "{":
            self._next()
            whole = self._balanced("{", "}")
            match = PARAMETER.match(whole[1:-1])
            if match is None or not whole.endswith("}") or len(whole) > MAX_BRACED:
                self._unknown("$" + whole)
            else:
                self._parameter(match[1], match[2], match[3], quoted=quoted)
        elif (plain := NAME.match(self.text, self.at + 1)) is not None:
            self._skip(1 + len(plain[0]))
            self._parameter(plain[0], None, "", quoted=quoted)
        else:
            self._next()
            if self._peek() and self._peek() in "@*#?!$-0123456789":
                self._parameter(self._next(), None, "", quoted=quoted)
            else:
                self.part.append("$")

    def _unknown(self, written: str) -> None:
        self.dynamic = True
        self.part.append(written)

    def _parameter(self, name: str, index: str | None, rest: str, *, quoted: bool) -> None:
        """Put what `${name[index]rest}` stands for into the word at hand."""
        fallback = FALLBACK.match(rest)
        written = "${" + name + (f"[{index}]" if index is not None else "") + ("}" if fallback else rest + "}")
        if index is None:
            written = f"${name}"
        if name in ("@", "*") and not rest:
            self._array_of("@", written, quoted=quoted, joined=quoted and name == "*")
            return
        if (rest and fallback is None) or not (name[0].isalpha() or name[0] == "_" or name.isdigit()):
            self._unknown(written)
            return
        if name.isdigit() and name != "0" and index is None and self.variables.is_set("@"):
            name, index = "@", str(int(name) - 1)
        operator, operand = (fallback[1], fallback[2]) if fallback is not None else ("", "")
        if index in ("@", "*"):
            self._array_of(name, written, quoted=quoted, joined=quoted and index == "*")
            return
        value = self.variables.get(name) if index is None else self.variables.element(name, index)
        if not value and operator[-1:] in ("-", "=") and operator:
            value = self._default(name, operator, operand, value)
        elif operator[-1:] == "+" and value is not None:
            filled = bool(value) or (operator == "+" and self.variables.is_set(name))
            value = HIDDEN if value and not value.replace(HIDDEN, "") else self._operand(operand) if filled else ""
        value = self.variables.spend(value)
        if value is None:
            self._unknown(written)
        elif quoted or (self.assigning and ASSIGNED.match("".join(self.part))):
            self._known(written, value)
        else:
            self._split(written, value)

    def _default(self, name: str, operator: str, operand: str, value: str | None) -> str | None:
        """Return what stands for a variable that is not set, or is empty."""
        if value == "" and operator[0] != ":" and self.variables.is_set(name):
            return value
        found = self._operand(operand)
        if operator[-1] == "=":
            self.variables.set(name, found, self._place())
        return found

    def _operand(self, text: str) -> str:
        """Return the text behind `:-` with its own expansions; what is not known in it is hidden."""
        if self.nested >= MAX_NESTED:
            return HIDDEN
        reader = WordReader(text, self.line, self.column, self.variables, nested=self.nested + 1)
        return reader.value()

    def value(self) -> str:
        """Return the whole text as one value, as the right side of an assignment is read."""
        self.part, self.open = ["_="], True
        while self._peek():
            char = self._peek()
            if char == "\\":
                self._escape()
            else:
                self._word_part(char)
        text = "".join(self.part)[2:]
        if not self.dynamic:
            return text
        hidden = UNKNOWN_PART.sub(HIDDEN, text)
        return hidden if HIDDEN in hidden else HIDDEN

    def _known(self, written: str, value: str) -> None:
        """Put a value, or a piece of it, in place of its variable; what is hidden in it stays open."""
        self.dynamic = self.dynamic or HIDDEN in value
        self.part.append(value.replace(HIDDEN, written))

    def _split(self, written: str, value: str) -> None:
        """Put a value without quotes into words, as IFS says."""
        separators = self.variables.get("IFS") if self.variables.is_set("IFS") else " \t\n"
        if separators is None or HIDDEN in separators:
            if re.search(r"[\s,:;]", value.replace(HIDDEN, "").strip()):
                self._unknown(written)
                return
            separators = " \t\n"
        pieces = [piece for piece in re.split(f"[{re.escape(separators)}]+", value) if piece] if separators else [value]
        if not pieces:
            self.gone = True  # an empty value without quotes is no word at all
            return
        start = self.start
        if value[0] in separators and self.part:
            self._end_word()
            self.open, self.literal, self.start = True, False, start
        for piece in pieces[:-1]:
            self._known(written, piece)
            self._end_word()
            self.open, self.literal, self.start = True, False, start
        self._known(written, pieces[-1])
        if value[-1] in separators:
            self._end_word()
            self.open, self.gone, self.literal, self.start = True, True, False, start

    def _array_of(self, name: str, written: str, *, quoted: bool, joined: bool) -> None:
        """Put an array's elements in place of `${NAME[@]}`, each as a word of its own. `joined`: all as one."""
        elements = self.variables.array(name)
        if elements is None:
            self._unknown(written if name == "@" else "${" + name + "[@]}")
            return
        if joined:
            known = all(not element.dynamic for element in elements) and not self.variables.is_set("IFS")
            self._known(written, " ".join(element.text for element in elements) if known else HIDDEN)
            return
        self.gone = self.gone or not elements
        pieces = elements if quoted else [e for e in elements if e.dynamic or e.text]
        if not quoted and any(space in e.text for e in pieces if not e.dynamic for space in " \t\n"):
            self._unknown(written)  # its elements are split again
            return
        for index, element in enumerate(pieces):
            if index:
                self._end_word()
                self.literal = False
            if not "".join(self.part):
                self.start = (element.line, element.column) if not element.dynamic else self.start
            self.open = True
            self.dynamic = self.dynamic or element.dynamic
            self.part.append(element.text)
