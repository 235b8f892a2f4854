"""Words after `vllm serve` into options, as vLLM's own parser reads them.

Source: vllm/utils/argparse_utils.py:FlexibleArgumentParser.parse_args@0.33.0, and Python's argparse beneath it:
underscores become dashes in option names, `--a.b.c value` sets a key inside a JSON option, `-O3` is an optimisation
level, an unambiguous abbreviation is the option it abbreviates, and of a repeated option the last one wins.
"""

from __future__ import annotations

import re
from typing import Any, Literal

import msgspec

from compatcheck.launch.flag_table import SWITCHES, Flag, FlagTable
from compatcheck.launch.model import Setting, Word
from compatcheck.launch.shell.patterns import PLACEHOLDER

Problem = Literal["unknown", "ambiguous", "missing-value", "bad-value", "bad-choice", "unexpected", "unexpected-value"]

_NEGATIVE = re.compile(r"^-\d+$|^-\d*\.\d+$")
_SIZE = re.compile(r"^(?:\d+|\d+(?:\.\d+)?[kmgt]|\d+[KMGT])$")
_ITEM = re.compile(r"^\s*\{.*\}\s*$", re.S)
_BARE_SIZE = re.compile(r'("(?:[^"\\]|\\.)*")|\b(\d+(?:\.\d+)?)([kKmMgGtT])\b')
_SCALE = {"k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}


class ArgumentProblem(msgspec.Struct, frozen=True):
    """Something the parser would stop at."""

    kind: Problem
    word: Word
    option: str
    detail: str = ""
    rest: str = ""
    """An unknown option with the words that go with it."""


class Parsed(msgspec.Struct, frozen=True):
    """The options in the order in which they count, the model if it is given by place, and what is wrong."""

    settings: tuple[Setting, ...]
    model: Word | None
    problems: tuple[ArgumentProblem, ...]

    def last(self, option: str) -> Setting | None:
        """Return the occurrence of an option that counts."""
        return next((s for s in reversed(self.settings) if s.option == option), None)


def parse_arguments(words: tuple[Word, ...], table: FlagTable) -> Parsed:
    """Return what a release's parser makes of these words. Never raises."""
    return _Parser(words, table).run()


class _Parser:
    def __init__(self, words: tuple[Word, ...], table: FlagTable) -> None:
        self.words = [self._dashes(word) for word in words]
        self.table = table
        self.at = 0
        self.settings: list[Setting] = []
        self.problems: list[ArgumentProblem] = []
        self.model: Word | None = None
        self.dotted: dict[str, tuple[Flag, dict[str, Any], Word]] = {}
        self.dotted_open: set[str] = set()
        """JSON options of which a key has a value that only the shell knows."""

    @staticmethod
    def _dashes(word: Word) -> Word:
        text = word.text
        if text.startswith("--"):
            name, equals, value = text.partition("=")
            head, dot, tail = name.partition(".")
            text = head.replace("_", "-") + dot + tail + equals + value
        elif text.startswith("-O") and text != "-O":
            text = "--optimization-level=" + text[2:].removeprefix("=")
        return word if text == word.text else msgspec.structs.replace(word, text=text)

    def run(self) -> Parsed:
        literal = False
        while self.at < len(self.words):
            word = self.words[self.at]
            self.at += 1
            if literal or not self._is_option(word):
                self._positional(word)
            elif word.text == "--":
                literal = True
            elif word.text == "-O" and self._peek_text() in ("0", "1", "2", "3"):
                self._option(Word("--optimization-level", word.line, word.column))
            elif "." in word.text.split("=", 1)[0]:
                self._dotted(word)
            else:
                self._option(word)
        for option, (flag, value, word) in self.dotted.items():
            self._add(flag, value, Word(option, word.line, word.column), dynamic=option in self.dotted_open)
        return Parsed(tuple(self.settings), self.model, tuple(self.problems))

    # ------------------------------------------------------------------------------------- helpers

    def _peek_text(self) -> str | None:
        return self.words[self.at].text if self.at < len(self.words) else None

    def _is_option(self, word: Word) -> bool:
        text = word.text
        if len(text) < 2 or not text.startswith("-"):
            return False
        name = text.split("=", 1)[0]
        if name in self.table.spellings or ("." in name and " " not in name and not _NEGATIVE.match(text)):
            return True
        return not _NEGATIVE.match(text) and " " not in text

    def _positional(self, word: Word) -> None:
        if self.model is None and word.text.strip():
            self.model = word
        else:
            self.problems.append(ArgumentProblem("unexpected", word, word.text))

    def _problem(self, kind: Problem, word: Word, option: str, detail: str = "") -> None:
        self.problems.append(ArgumentProblem(kind, word, option, detail))

    def _add(self, flag: Flag, value: Any, word: Word, *, dynamic: bool = False) -> None:
        self.settings.append(
            Setting(
                option=flag.option,
                value=value,
                written=word.text.split("=", 1)[0],
                line=word.line,
                column=word.column,
                dynamic=dynamic,
                origin=word.origin,
            )
        )

    def _find(self, name: str, word: Word) -> tuple[Flag, bool] | None:
        """Return the option that a name means; report it where it means none or several."""
        spellings = self.table.matches(name)
        if len(spellings) == 1:
            return self.table.spellings[spellings[0]]
        if not spellings:
            rest = [word.text]
            while self.at < len(self.words) and not self._is_option(self.words[self.at]):
                rest.append(self.words[self.at].text)
                self.at += 1  # its values, which belong to nothing else
            self.problems.append(ArgumentProblem("unknown", word, name, rest=" ".join(rest)))
            return None
        self._problem("ambiguous", word, name, ", ".join(spellings))
        return None

    # ------------------------------------------------------------------------------------- options

    def _option(self, word: Word) -> None:
        name, equals, value = word.text.partition("=")
        found = self._find(name, word)
        if found is None:
            return
        flag, switch = found
        if flag.kind in SWITCHES:
            if equals:
                self._problem("unexpected-value", word, flag.option, value)
            self._add(flag, switch, word)
            return
        if equals:
            values = [Word(value, word.line, word.column + len(name) + 1, word.dynamic)]
        else:
            values = self._values(flag)
            if not values and flag.kind != "optional":
                self._problem("missing-value", word, flag.option)
                return
        if flag.kind == "list":
            self._add(flag, [v.text for v in values], word, dynamic=any(v.dynamic for v in values))
        elif not values:
            self._add(flag, True, word)
        else:
            given = _filled_in_later(flag, values[0])
            self._add(flag, self._value(flag, given), word, dynamic=given.dynamic)

    def _values(self, flag: Flag) -> list[Word]:
        values: list[Word] = []
        while self.at < len(self.words) and not self._is_option(self.words[self.at]):
            values.append(self.words[self.at])
            self.at += 1
            if flag.kind != "list":
                break
        return values

    def _value(self, flag: Flag, word: Word) -> Any:
        """Return a value as the option takes it; what it cannot take is a problem, and stays text."""
        text = word.text
        if word.dynamic:
            return text
        kind, nothing = flag.kind, flag.none and text in ("", "None")
        if kind == "choices":
            text = flag.spelled(text)
            if text not in [str(choice) for choice in flag.choices] and not nothing:
                self._problem("bad-choice", word, flag.option, ", ".join(str(choice) for choice in flag.choices))
        elif kind == "int":
            if nothing:
                return None
            try:
                return int(text)
            except ValueError:
                self._problem("bad-value", word, flag.option, "a whole number")
        elif kind == "size":
            if text.strip().lower() not in ("-1", "auto") and not nothing and not _SIZE.match(text.strip()):
                self._problem("bad-value", word, flag.option, "a whole number such as 8192 or 8k")
        elif kind == "float":
            if nothing:
                return None
            try:
                return float(text)
            except ValueError:
                self._problem("bad-value", word, flag.option, "a number")
        elif kind == "json" or (kind in ("json-or-str", "str") and _ITEM.match(text)):
            value = read_json(text)
            if value is not _BAD and flag.keys and not isinstance(value, dict):
                self._problem("bad-value", word, flag.option, "a JSON object")
            elif value is not _BAD:
                return value
            elif kind == "json":
                self._problem("bad-value", word, flag.option, "JSON")
        return text

    def _dotted(self, word: Word) -> None:
        """`--attention-config.backend X`, `-ac.backend=X`, `--cfg.list+ a,b`: a key inside a JSON option."""
        path, equals, text = word.text.partition("=")
        dynamic = word.dynamic
        if not equals:
            if self.at >= len(self.words):
                self._problem("missing-value", word, path)
                return
            following = self.words[self.at]
            text, dynamic = following.text, following.dynamic
            self.at += 1
        name, *keys = path.split(".")
        append = keys[-1].endswith("+")
        if append:
            keys[-1] = keys[-1][:-1]
        found = self._find(name, word)
        if found is None:
            return
        flag = found[0]
        if flag.kind in SWITCHES:
            self._problem("bad-value", word, flag.option, "no value")
            return
        value: Any = text.split(",") if append else _scalar(text)
        for key in reversed(keys):
            value = {key: value}
        entry = self.dotted.setdefault(flag.option, (flag, {}, word))
        _merge(entry[1], value)
        if dynamic:
            self.dotted_open.add(flag.option)


def _filled_in_later(flag: Flag, word: Word) -> Word:
    """Return a value as one that is not known where it is no JSON only for a placeholder in it: `{"tokens": <K>}`."""
    open_ = flag.kind == "json" and PLACEHOLDER.search(word.text) is not None and read_json(word.text) is _BAD
    return msgspec.structs.replace(word, dynamic=True) if open_ else word


_BAD = object()


def read_json(text: str) -> Any:
    """Return a JSON value, with vLLM's bare sizes (80m) expanded; `_BAD` where it is not JSON."""

    def expand(match: re.Match[str]) -> str:
        return match[1] if match[1] else str(int(float(match[2]) * _SCALE[match[3]]))

    try:
        return msgspec.json.decode(_BARE_SIZE.sub(expand, text))
    except (msgspec.DecodeError, RecursionError, ValueError, OverflowError):
        return _BAD


def _scalar(text: str) -> Any:
    value = read_json(text)
    return text if value is _BAD else value


def _merge(into: dict[str, Any], more: dict[str, Any]) -> None:
    for key, value in more.items():
        present = into.get(key)
        if isinstance(present, dict) and isinstance(value, dict):
            _merge(present, value)
        elif isinstance(present, list) and isinstance(value, list):
            present += value
        else:
            into[key] = value
