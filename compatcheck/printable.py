"""Text of foreign files (a saved host, a launch file, a log) as it may be printed: nothing in it moves the cursor."""

from __future__ import annotations

import re

_UNSAFE = r"[\x00-\x08\x0a-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]"
"""Compiled where a text needs it: a plain check prints none that does."""


def printable(text: str, *, lines: bool = False) -> str:
    r"""Return the text with control characters written out ('\x1b', '\n'); line ends stay as they are under `lines`.

    Directional marks are written out too, since they show a text in another order than it has; tabs stay.
    """
    if lines:
        return "\n".join(printable(line) for line in text.split("\n"))
    return re.sub(_UNSAFE, _written, text) if not text.isprintable() else text


def _written(match: re.Match[str]) -> str:
    return match[0].encode("unicode_escape").decode("ascii")
