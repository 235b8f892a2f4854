"""Lines of text with a style for terminals; plain everywhere else."""

from __future__ import annotations

import os
from typing import IO

import msgspec

from compatcheck.printable import printable

STYLES = {
    "supported": "bold green",
    "degraded": "bold yellow",
    "unsupported": "bold red",
    "unknown": "bold magenta",
    "error": "bold red",
    "warning": "yellow",
    "note": "cyan",
    "heading": "bold",
    "dim": "dim",
}


class Line(msgspec.Struct, frozen=True):
    """A line: (text, style name) parts; an empty style is plain."""

    parts: tuple[tuple[str, str], ...] = ()

    def plain(self) -> str:
        """Return the line without styles."""
        return "".join(text for text, _ in self.parts)


def line(text: str = "", style: str = "") -> Line:
    """Return a line of one part."""
    return Line(((text, style),))


def write(lines: list[Line], out: IO[str]) -> None:
    """Write lines: with rich on a terminal, plainly elsewhere and under NO_COLOR."""
    if out.isatty() and "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb":
        from rich.console import Console
        from rich.text import Text

        console = Console(file=out, highlight=False, soft_wrap=True)
        for item in lines:
            text = Text()
            for part, style in item.parts:
                text.append(printable(part), STYLES.get(style))
            console.print(text)
        return
    for item in lines:
        out.write(printable(item.plain()).rstrip() + "\n")
