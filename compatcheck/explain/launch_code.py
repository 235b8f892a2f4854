"""The shape of a code that only launches have."""

from __future__ import annotations

from typing import NamedTuple


class LaunchCode(NamedTuple):
    """What a command, a file or a model folder gets wrong. `words` are as in `Entry`."""

    code: str
    title: str
    bites: str
    effect: str
    why: str
    fix: str
    words: tuple[str, ...] = ()


EITHER = "unsupported, or a note where other releases take it and none is stated"
"""The effect of what only the release that is used can decide."""
