"""The expansions in the words of shell text: variables, arrays, and what stands for them where they are not set."""

from __future__ import annotations

import re

from compatcheck.launch.model import Word
from compatcheck.launch.shell.brackets import MAX_NESTED
from compatcheck.launch.shell.patterns import ASSIGNED, FALLBACK, HIDDEN, NAME, PARAMETER, UNKNOWN_PART
from compatcheck.launch.shell.quotes import QuoteReader

MAX_BRACED = 10_000
"""Characters of `${...}`; of a longer one nothing is known."""
_OF_A_NAME = 50
"""Parts of a word in which the name of an assignment stands."""
_QUOTING = re.compile(r"[\"'\\]")


class WordReader(QuoteReader):
    """Reads words; what only the shell knows is marked in them."""

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
        if index is None and (fallback is not None or not rest):
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
            elements = self.variables.array(name) if operator else None
            filled = elements is not None and any(not element.dynamic for element in elements)
            if operator[-1:] in ("-", "+") and (filled or elements == ()):
                if filled is (operator[-1] == "+"):
                    self._put(self._pieces(operand, quoted=quoted))
                    return
                if operator[-1] == "+":
                    self.gone = True
                    return
            self._array_of(name, written, quoted=quoted, joined=quoted and index == "*")
            return
        value = self.variables.get(name) if index is None else self.variables.element(name, index)
        empty = operator[:1] != ":" and self.variables.is_set(name)  # an empty value counts as one
        instead = False
        if not value and operator[-1:] in ("-", "="):
            instead = value is None or not empty
            value = self._operand(operand) if instead else value
            if instead and operator[-1] == "=":
                self.variables.set(name, value or "", self._place())
        elif operator[-1:] == "+" and value is not None:
            instead = bool(value) or empty
            value = HIDDEN if value and not value.replace(HIDDEN, "") else self._operand(operand) if instead else ""
        value = self.variables.spend(value)
        whole = quoted or (self.assigning and ASSIGNED.match("".join(self.part[:_OF_A_NAME])) is not None)
        if value is None:
            self._unknown(written)
        elif instead and not whole and HIDDEN not in value and operator[-1] != "=" and _QUOTING.search(operand):
            self._put(self._pieces(operand, quoted=False))
        elif whole:
            self._known(written, value)
        else:
            self._split(written, value)

    def _operand(self, text: str) -> str:
        """Return the text behind `:-` with its own expansions; what is not known in it is hidden."""
        if self.nested >= MAX_NESTED:
            return HIDDEN
        reader = WordReader(text, self.line, self.column, self.variables, nested=self.nested + 1)
        return reader.value()

    def _pieces(self, text: str, *, quoted: bool) -> list[Word]:
        """Return the words of the text behind `:+` or `:-`, in which quotes hold together what belongs to one."""
        if self.nested >= MAX_NESTED:
            return [Word(text, dynamic=True)]
        reader = WordReader(text, self.line, self.column, self.variables, nested=self.nested + 1)
        reader.assigning = False
        while reader._peek():
            char = reader._peek()
            if char == "\\":
                reader._escape()
            elif char in " \t\n" and not quoted:
                reader._end_word()
                reader._next()
            else:
                reader._begin()
                reader._word_part(char)
        reader._end_word()
        return reader.words

    def _put(self, words: list[Word]) -> None:
        """Put words in place of an expansion; what stands next to it belongs to the first and the last one."""
        self.gone = self.gone or not words
        for index, word in enumerate(words):
            if index:
                self._end_word()
                self.literal = False
            self._begin()
            self.dynamic = self.dynamic or word.dynamic
            self.part.append(word.text)

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
