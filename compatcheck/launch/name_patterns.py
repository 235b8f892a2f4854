"""Whether a checkpoint's regular expression fits a layer's name, decided in time that the expression cannot stretch.

A checkpoint brings its own expressions, and Python's matcher may take one for ever. Here all places of a name that an
expression may have come to are followed together, as the bits of a number: whether it fits is then known after as many
steps as it has parts, more only where repeats stand in repeats. What this reader does not know (backreferences, what
looks back, atomic groups, flags) and what is too long is not judged, and whoever asks is told so.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache

MAX_PATTERN = 1000
MAX_COST = 3000
"""Most steps that an expression may take on a name; `re:.*self_attn.*` takes some 20."""
MAX_DEPTH = 20
_LENGTH = 128
"""Longest name that is thought of: a repeat of more than one character may take as many rounds."""
_ENDLESS = 1 << 30
_CHARACTER = re.compile(r"\\[dDsSwW.\-_/^$*+?()\[\]{}|:]|\[\^?\]?(?:\\.|[^\]\\])*\]|\.|[^\\()\[{}*+?|^$]")
"""One character: an escaped one, one of a class, any, or itself."""
_REPEAT = re.compile(r"(?P<how>[*+?]|\{(?P<least>\d{1,4})(?P<range>,(?P<most>\d{1,4})?)?\})\??(?P<again>[*+?{])?")
_GROUP = re.compile(r"\((?:\?(?::|P<\w+>|(?P<ahead>[=!])))?(?!\?)")
_NESTED = re.compile(r"\[\[|--|&&|\|\||~~")
"""What a later Python may read as operations on classes."""


class UnjudgedError(ValueError):
    """An expression that is not judged here."""


class Name:
    """A layer's name; bit i of a number of places stands for the place before its character i."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.end = 1 << len(text)
        self.every = 2 * self.end - 1
        self.at: dict[str, int] = {}
        for index, character in enumerate(text):
            self.at[character] = self.at.get(character, 0) | 1 << index

    def places(self, unit: str) -> int:
        """Return the places of the characters that a unit such as `a`, `[0-9]` or `.` fits."""
        if len(unit) == 1 and unit != ".":
            return self.at.get(unit, 0)
        return sum(places for character, places in self.at.items() if _is(unit, character))


Step = Callable[[Name, int], int]
"""A part of an expression: from the places where it may start to those where it may end."""


def fits(pattern: str, name: Name) -> bool:
    """Return whether an expression fits the beginning of a name. Raises `UnjudgedError`."""
    return compiled(pattern)[0](name, 1) != 0


@lru_cache(maxsize=4096)
def compiled(pattern: str) -> tuple[Step, int]:
    """Return an expression's step, and how much it may cost. Raises `UnjudgedError`."""
    if len(pattern) > MAX_PATTERN or _NESTED.search(pattern):
        raise UnjudgedError(pattern)
    reader = _Reader(pattern)
    step, cost = reader.choice(0)
    if reader.at < len(pattern) or cost > MAX_COST:
        raise UnjudgedError(pattern)
    return step, cost


class _Reader:
    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        self.at = 0

    def choice(self, depth: int) -> tuple[Step, int]:
        if depth > MAX_DEPTH:
            raise UnjudgedError(self.pattern)
        read = [self._sequence(depth)]
        while self._takes("|"):
            read.append(self._sequence(depth))
        steps = [step for step, _ in read]
        cost = sum(cost for _, cost in read)
        return (steps[0] if len(steps) == 1 else _any_of(steps)), cost

    def _sequence(self, depth: int) -> tuple[Step, int]:
        steps: list[Step] = []
        total = 1
        while self.at < len(self.pattern) and self.pattern[self.at] not in "|)":
            step, cost = self._part(depth)
            steps.append(step)
            total += cost
        return _in_order(steps), total

    def _part(self, depth: int) -> tuple[Step, int]:
        if self._takes("^"):
            return (lambda _, starts: starts & 1), 1
        if self._takes("$"):
            return (lambda name, starts: starts & name.end), 1
        group = _GROUP.match(self.pattern, self.at)
        unit = _CHARACTER.match(self.pattern, self.at)
        if group is not None:
            self.at = group.end()
            step, cost = self.choice(depth + 1)
            if not self._takes(")"):
                raise UnjudgedError(self.pattern)
            if group["ahead"]:
                return _ahead(step, wanted=group["ahead"] == "="), cost * _LENGTH
            return self._repeated(step, cost, None)
        if unit is None:
            raise UnjudgedError(self.pattern)
        self.at = unit.end()
        _check(unit[0])
        return self._repeated(_character(unit[0]), 1, unit[0])

    def _repeated(self, step: Step, cost: int, unit: str | None) -> tuple[Step, int]:
        found = _REPEAT.match(self.pattern, self.at)
        if found is None:
            return step, cost
        if found["again"]:
            raise UnjudgedError(self.pattern)  # a possessive repeat, or an error
        self.at = found.end()
        how = found["how"]
        if how in "*+" and unit is not None:
            run = _run_of(unit)
            return (run if how == "*" else _in_order([step, run])), 8
        least, most = {"*": (0, _ENDLESS), "+": (1, _ENDLESS), "?": (0, 1)}.get(how, (-1, -1))
        if least < 0:
            least = int(found["least"])
            most = least if found["range"] is None else int(found["most"] or _ENDLESS)
        return _repeat(step, least, most), cost * min(most, 2 * _LENGTH)

    def _takes(self, text: str) -> bool:
        if not self.pattern.startswith(text, self.at):
            return False
        self.at += len(text)
        return True


def _check(unit: str) -> None:
    """Raise `UnjudgedError` for a class that is none."""
    try:
        _unit(unit)
    except re.error as error:
        raise UnjudgedError(unit) from error


@lru_cache(maxsize=1024)
def _unit(unit: str) -> re.Pattern[str]:
    return re.compile(unit)


@lru_cache(maxsize=8192)
def _is(unit: str, character: str) -> bool:
    return _unit(unit).fullmatch(character) is not None


def _character(unit: str) -> Step:
    return lambda name, starts: (starts & name.places(unit)) << 1


def _in_order(steps: list[Step]) -> Step:
    def step(name: Name, starts: int) -> int:
        for part in steps:
            starts = part(name, starts)
            if not starts:
                break
        return starts

    return step


def _any_of(steps: list[Step]) -> Step:
    def step(name: Name, starts: int) -> int:
        ends = 0
        for part in steps:
            ends |= part(name, starts)
        return ends

    return step


def _run_of(unit: str) -> Step:
    """Return the step over any number of one character: runs of 1, 2, 4, ... of them are crossed at once."""

    def step(name: Name, starts: int) -> int:
        places, length = name.places(unit), 1
        while places:
            starts |= (starts & places) << length
            places &= places >> length
            length *= 2
        return starts

    return step


def _repeat(part: Step, least: int, most: int) -> Step:
    def step(name: Name, starts: int) -> int:
        for _ in range(min(least, len(name.text) + 2)):  # places only move on: after so many rounds none does
            starts = part(name, starts)
        found = fresh = starts
        for _ in range(min(most - least, len(name.text) + 2)):
            fresh = part(name, fresh) & ~found
            if not fresh:
                break
            found |= fresh
        return found

    return step


def _ahead(part: Step, *, wanted: bool) -> Step:
    def step(name: Name, starts: int) -> int:
        ends, place = 0, 1
        while place <= starts:
            if starts & place and (part(name, place) != 0) is wanted:
                ends |= place
            place <<= 1
        return ends

    return step
