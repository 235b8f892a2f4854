"""Markdown from values: what templates use to write text, code, links and tables."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache

_SPECIAL = re.compile(r"([\\*<>\[\]])")
_URL = re.compile(r"(?<![<(\"])\bhttps?://[^\s<>)\]]+[^\s<>)\].,;:]")
_EMPHASIS = re.compile(r"(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])")
_CODE = re.compile(r"(`[^`]*`)")


def text(value: object) -> str:
    """Return prose in one line: markup characters are escaped, code in backticks stays, URLs become links."""
    return _text(str(value))


@lru_cache(maxsize=16384)
def _text(value: str) -> str:
    parts = _CODE.split(" ".join(value.split()))
    return "".join(part if index % 2 else _prose(part) for index, part in enumerate(parts))


def _prose(part: str) -> str:
    pieces: list[str] = []
    at = 0
    for match in _URL.finditer(part) if "http" in part else ():
        pieces += [_escape(part[at : match.start()]), f"<{match[0]}>"]
        at = match.end()
    return "".join([*pieces, _escape(part[at:])])


def _escape(part: str) -> str:
    escaped = _SPECIAL.sub(r"\\\1", part)
    return _EMPHASIS.sub(r"\\_", escaped) if "_" in escaped else escaped


def code(value: object) -> str:
    """Return inline code, fenced by as many backticks as the value needs."""
    content = " ".join(str(value).split())
    if "`" in content:
        return f"`` {content} ``"
    return f"`{content}`"


def codes(values: Iterable[object]) -> str:
    """Return values as inline code, separated by commas."""
    return ", ".join(code(value) for value in values)


def link(label: object, target: str) -> str:
    """Return a link; the label is Markdown already."""
    return f"[{label}]({target})"


def table(headers: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a table of Markdown cells; an empty cell prints a dash, so that nothing looks like a forgotten fact."""
    lines = [headers, ["---"] * len(headers), *rows]
    return "\n".join("| " + " | ".join(_cell(cell) for cell in line) + " |" for line in lines)


def _cell(value: object) -> str:
    content = " ".join(str(value).split()).replace("|", "\\|")
    return content or "-"


def fence(value: str) -> str:
    """Return a block of plain text."""
    ticks = "```"
    while ticks in value:
        ticks += "`"
    return f"{ticks}text\n{value.rstrip()}\n{ticks}"
