"""The release that a command installs before a launch: `pip install vllm==0.33.0`, `uvx vllm@0.33.0`."""

from __future__ import annotations

import re

import msgspec

from compatcheck.launch.model import Launch, Word
from compatcheck.launch.wrappers import name_of

_PINNED = re.compile(r"^(?:--(?:from|with)=)?vllm(?:\[[\w,-]*\])?(?:==|@)v?(\d[\w.]*)$")
_INSTALLERS = frozenset({"pip", "pip3", "uv", "uvx", "python", "python3", "poetry", "pixi", "conda", "micromamba"})


def pinned_version(words: list[Word]) -> Word | None:
    """Return the release that a command installs by `vllm==0.33.0` (or runs, `uvx vllm@0.33.0`), at its place."""
    names = [name_of(word) for word in words]
    if not _INSTALLERS.intersection(names):
        return None
    for word in words:
        match = _PINNED.match(word.text)
        if match is not None and not word.dynamic:
            return msgspec.structs.replace(word, text=match[1], column=word.column + match.start(1))
    return None


def with_version(launch: Launch, version: Word | None) -> Launch:
    """Return the launch with the release that was installed for it, unless an image brings its own."""
    if version is None or launch.image is not None or launch.engine_version is not None:
        return launch
    return msgspec.structs.replace(launch, engine_version=version)
