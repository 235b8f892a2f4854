"""Keep file-system paths out of what leaves the host."""

from __future__ import annotations

import re

_QUOTED = re.compile(r"""(['"])[^'"]*[/\\][^'"]*\1""")
_BARE = re.compile(r"""(?<![\w.:/\\])(?:~|[A-Za-z]:)?[/\\][^\s'"():,;]+""")


def without_paths(text: str) -> str:
    """Return a text as one line in which every absolute or quoted path is replaced by <path>."""
    line = " ".join(text.split())
    return _BARE.sub("<path>", _QUOTED.sub("<path>", line))
