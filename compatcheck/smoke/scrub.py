"""Texts of exceptions without what identifies a machine: paths, host names, addresses, user names."""

from __future__ import annotations

import re

_PATH = re.compile(r"(?:(?<![\w.:])|(?<=-[ILB]))(?:~|[A-Za-z]:)?(?:[/\\][\w.+@=,%-]+)+[/\\]?")
"""A compiler's `-I/path` has no space before the path."""
_URL = re.compile(r"\b[a-z][a-z0-9+.-]*://[^\s'\")\]]+")
_ADDRESS = re.compile(r"\b0x[0-9a-fA-F]{6,}\b")
_HOST = re.compile(r"\b(?:\d{1,3}\.){3}\d{1,3}(?::\d+)?\b|\b[\w-]+(?:\.[\w-]+)*\.(?:local|internal|lan|corp)\b")
_PID = re.compile(r"\b(pid|process|tid)[ =:]+\d+", re.IGNORECASE)
_KEEP_TAIL = re.compile(r"[\w.+-]+\.(?:cu|cuh|h|hpp|cc|cpp|py|so|o|cuda\.o|txt|json)$")
_LIMIT = 1200


def scrub(text: str, limit: int = _LIMIT) -> str:
    """Return the text with paths reduced to a file name where it is a source file, else to <path>.

    URLs become <url>, memory addresses <address>, host names <host>. Longer texts keep their start and end.
    """
    text = _URL.sub("<url>", text)
    text = _HOST.sub("<host>", text)
    text = _PATH.sub(_path, text)
    text = _ADDRESS.sub("<address>", text)
    text = _PID.sub(r"\1 <n>", text)
    text = text.strip()
    if len(text) > limit:
        half = (limit - 7) // 2
        text = f"{text[:half]}\n [...]\n{text[-half:]}"
    return text


def _path(match: re.Match[str]) -> str:
    path = match[0]
    if path.count("/") + path.count("\\") < 2 and not path.startswith(("/", "~")):
        return path
    if path.startswith("/") and path.count("/") == 1 and not _KEEP_TAIL.search(path):
        return path if len(path) < 3 else "<path>"
    name = _KEEP_TAIL.search(path)
    return f"<path>/{name[0]}" if name else "<path>"
