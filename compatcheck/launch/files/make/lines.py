"""A Makefile's lines as make reads them: continuations, references, and texts without their comments."""

from __future__ import annotations

import re
from collections.abc import Iterator

_BRACKETS = {"(": re.compile(r"[()]"), "{": re.compile(r"[{}]")}
_COMMENT = re.compile(r"(?<!\\)(?:\\\\)*#")


def continues(line: str) -> bool:
    """Return whether a line goes on in the next one: it ends in an odd number of backslashes."""
    return line.endswith("\\") and (len(line) - len(line.rstrip("\\"))) % 2 == 1


def physical(lines: list[str], index: int) -> tuple[int, list[str]]:
    """Return the line at an index with those that continue it, and the index after them."""
    start = index
    while continues(lines[index].rstrip("\r")) and index + 1 < len(lines):
        index += 1
    return index + 1, [line.rstrip("\r") for line in lines[start : index + 1]]


def one_line(lines: list[str]) -> str:
    """Return a line and those that continue it as one, without its comment."""
    text = lines[0]
    if len(lines) > 1:
        parts = [line[:-1] if index + 1 < len(lines) else line for index, line in enumerate(lines)]
        text = " ".join([parts[0].rstrip(), *(part.strip() for part in parts[1:])])
    return without_comment(text)


def without_comment(text: str) -> str:
    """Return a text up to its comment; an escaped number sign is one."""
    match = _COMMENT.search(text)
    text = text if match is None else text[: match.end() - 1]
    return text.replace("\\#", "#")


def references(text: str) -> Iterator[tuple[int, int, str | None]]:
    """Yield what make replaces in a text: start, end, and what stands in the brackets; None for `$$`.

    Nothing closes the last one: it goes to the end of the text.
    """
    at = text.find("$")
    while 0 <= at < len(text) - 1:
        char = text[at + 1]
        if char == "$":
            end, inner = at + 2, None
        elif char in _BRACKETS:
            end = _closed(text, at + 1, char)
            inner = text[at + 2 : end - 1]
        else:
            end, inner = at + 2, char
        yield at, end, inner
        at = text.find("$", end)


def arguments(text: str, limit: int = 20) -> list[str]:
    """Split the arguments of a function at the commas outside brackets."""
    found: list[str] = []
    start = depth = 0
    for match in re.finditer(r"[(){},]", text):
        if match[0] == "," and depth == 0 and len(found) < limit:
            found.append(text[start : match.start()])
            start = match.end()
        depth += (match[0] in "({") - (match[0] in ")}")
    return [*found, text[start:]]


def outside(text: str, char: str) -> int:
    """Return the first place of a character outside references, or -1."""
    at = 0
    for start, end, _ in references(text):
        found = text.find(char, at, start)
        if found >= 0:
            return found
        at = end
    return text.find(char, at)


def _closed(text: str, at: int, opener: str) -> int:
    depth = 0
    for match in _BRACKETS[opener].finditer(text, at):
        depth += 1 if match[0] == opener else -1
        if depth == 0:
            return match.end()
    return len(text) + 1
