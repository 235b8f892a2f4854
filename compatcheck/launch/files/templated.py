"""Shell texts in files of their own and in documents, in which another program than the shell may fill in values."""

from __future__ import annotations

import re

from compatcheck.launch.command_line import launches_in_script
from compatcheck.launch.model import Launch, Word
from compatcheck.launch.placeholders import TEMPLATE, unveiled
from compatcheck.launch.templates import veiled


def launches_in_text(text: str) -> list[Launch]:
    """Return the launches of a shell text; what stands in `{{ }}` and the like is known only to who fills it in."""
    if TEMPLATE.search(text) is None:
        return launches_in_script(text)
    lines = [0, *(match.end() for match in re.finditer("\n", text))]
    word = veiled(Word(text, starts=tuple((at, number, 1) for number, at in enumerate(lines, 1))))
    return [unveiled(launch) for launch in launches_in_script(word.text, starts=word.starts)]
