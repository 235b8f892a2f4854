"""Files of systemd: their settings by section, and words as systemd splits and fills them.

Source: systemd.syntax(7), and "Command lines" and "Environment" of systemd.service(5) and systemd.exec(5): a backslash
at the end of a line goes on in the next one, `${NAME}` is filled in anywhere, `$NAME` as a word of its own only and is
then split, and `%i` and the like are what the unit is started as.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping

import msgspec

from compatcheck.launch.files.scripts import MARK, MAX_VALUE, Scripts, Starts
from compatcheck.launch.model import Word
from compatcheck.launch.words import assignment

_SECTION = re.compile(r"\s*\[([^\]]*)\]\s*$")
_SETTING = re.compile(r"\s*([A-Za-z][\w-]*)\s*=\s*")
_PLAIN = re.compile(r"[^\s'\"\\$%{]+")
_INSIDE = {"'": re.compile(r"[^'\\$%{]+"), '"': re.compile(r'[^"\\$%{]+')}
_TEMPLATE = re.compile(r"\{\{[^{}]*\}\}|\{%[^{}%]*%\}")
"""What Ansible and others fill in."""
_VARIABLE = re.compile(r"\$\{([A-Za-z_]\w*)\}|\$([A-Za-z_]\w*)|\$\{[^{}]*\}")
_ESCAPE = re.compile(r"\\(?:x([0-9A-Fa-f]{2})|(.))", re.S)
_ESCAPES = {"n": "\n", "t": "\t", "s": " ", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}
MAX_CHARACTERS = 300_000
"""Characters of variables that are filled in for one file; beyond them they are unknown."""


class Setting(msgspec.Struct, frozen=True):
    """One `Name=value` of a section, its continued lines joined."""

    section: str
    name: str
    value: str
    starts: Starts


def read_settings(text: str) -> Iterator[Setting]:
    """Yield the settings of a file in order. Comments may stand between the lines of one."""
    section = ""
    lines = text.split("\n")
    index = 0
    while index < len(lines):
        line = lines[index].rstrip("\r")
        index += 1
        if line.lstrip()[:1] in ("#", ";"):
            continue
        named = _SECTION.match(line)
        if named is not None:
            section = named[1]
            continue
        match = _SETTING.match(line)
        parts = [(line, index)]
        while parts[-1][0].endswith("\\") and index < len(lines):
            index += 1
            following = lines[index - 1].rstrip("\r")
            if following.lstrip()[:1] not in ("#", ";"):
                parts.append((following, index))
        if match is not None:
            yield _joined(section, match, parts)


def _joined(section: str, match: re.Match[str], parts: list[tuple[str, int]]) -> Setting:
    texts: list[str] = []
    starts: list[tuple[int, int, int]] = []
    offset, begin = 0, match.end()
    for position, (line, number) in enumerate(parts):
        text = line[begin:].removesuffix("\\") if position + 1 < len(parts) else line[begin:]
        starts.append((offset, number, begin + 1))
        texts.append(text)
        offset += len(text) + 1
        begin = 0
    return Setting(section, match[1], " ".join(texts), tuple(starts))


class UnitWords:
    """Splits settings into words. `variables` are filled in where a setting is a command line, else None."""

    def __init__(self, scripts: Scripts) -> None:
        self.scripts = scripts
        self.spent = 0

    def read(self, setting: Setting, variables: Mapping[str, Word] | None = None) -> list[Word]:
        """Return the words of a setting, each with its place."""
        text = setting.value
        found: list[Word] = []
        at = 0
        while at < len(text):
            if text[at].isspace():
                at += 1
                continue
            place = _place(setting.starts, at)
            whole = _VARIABLE.match(text, at)
            if variables is not None and whole is not None and whole[2] and _ends(text, whole.end()):
                value = self._variable(whole, variables)
                found += [Word(piece, *place, MARK in piece) for piece in value.split()]
                at = whole.end()
                continue
            word, at = self._word(text, at, variables)
            found.append(Word(word, *place, MARK in word))
        return found

    def _word(self, text: str, at: int, variables: Mapping[str, Word] | None) -> tuple[str, int]:
        parts: list[str] = []
        quote = ""
        while at < len(text):
            char = text[at]
            if not quote and char.isspace():
                break
            plain = (_INSIDE[quote] if quote else _PLAIN).match(text, at)
            if plain is not None:
                parts.append(plain[0])
                at = plain.end()
            elif char in "'\"" and char == (quote or char):
                quote = "" if quote else char
                at += 1
            elif char == "\\" and (match := _ESCAPE.match(text, at)) is not None:
                parts.append(chr(int(match[1], 16)) if match[1] else _ESCAPES.get(match[2], match[2]))
                at = match.end()
            elif char == "{" and (match := _TEMPLATE.match(text, at)) is not None:
                parts.append(self.scripts.unknown(match[0]))
                at = match.end()
            elif char == "%" and at + 1 < len(text):
                parts.append("%" if text[at + 1] == "%" else self.scripts.unknown(text[at : at + 2]))
                at += 2
            elif char == "$" and variables is not None and text[at + 1 : at + 2] == "$":
                parts.append("$")
                at += 2
            elif char == "$" and variables is not None and (match := _VARIABLE.match(text, at)) is not None:
                parts.append(match[0] if match[2] else self._variable(match, variables))
                at = match.end()
            else:
                parts.append(char)
                at += 1
        return "".join(parts), at

    def _variable(self, match: re.Match[str], variables: Mapping[str, Word]) -> str:
        word = variables.get(match[1] or match[2] or "")
        if word is None or word.dynamic:
            return self.scripts.unknown(match[0])
        self.spent += len(word.text)
        too_long = len(word.text) > MAX_VALUE or self.spent > MAX_CHARACTERS
        return self.scripts.unknown(match[0]) if too_long else word.text


class UnitEnvironment:
    """The variables that the settings of one section give."""

    def __init__(self, words: UnitWords) -> None:
        self.words = words
        self.given: dict[str, Word] = {}
        self.files: list[Word] = []

    def take(self, setting: Setting) -> bool:
        """Read a setting about variables; return whether it is one. An empty one takes back those before it."""
        if setting.name not in ("Environment", "EnvironmentFile", "PassEnvironment", "UnsetEnvironment"):
            return False
        words = self.words.read(setting)
        if setting.name == "Environment":
            self.given = self.given if words else {}
            for word in words:
                pair = assignment(word)
                name, value = pair if pair is not None else (word.text, msgspec.structs.replace(word, dynamic=True))
                self.given[name] = value
        elif setting.name == "EnvironmentFile":
            self.files = [*self.files, *(_file(word) for word in words[:1])] if words else []
        elif setting.name == "PassEnvironment":
            self.given |= {word.text: msgspec.structs.replace(word, dynamic=True) for word in words}
        else:
            for word in words:
                self.given.pop(word.text.partition("=")[0], None)
        return True

    def under_files(self) -> dict[str, Word]:
        """Return the variables of a service: those of its files, which are read elsewhere, come before its own."""
        if not self.files:
            return self.given
        return {name: msgspec.structs.replace(word, dynamic=True) for name, word in self.given.items()}


def _file(word: Word) -> Word:
    return msgspec.structs.replace(word, text=word.text.removeprefix("-"))


def _ends(text: str, at: int) -> bool:
    return at >= len(text) or text[at].isspace()


def _place(starts: Starts, at: int) -> tuple[int, int]:
    offset, line, column = starts[max(0, bisect_right(starts, at, key=lambda start: start[0]) - 1)]
    return line, column + at - offset
