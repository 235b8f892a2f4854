"""Texts of exceptions without what identifies a machine: paths, host names, addresses, user names."""

from __future__ import annotations

import contextlib
import getpass
import re
import socket
from functools import lru_cache

_PATH = re.compile(r"(?:(?<![\w.:])(?<!<path>)|(?<=-[ILB]))(?:~|[A-Za-z]:)?(?:[/\\][\w.+@=,%-]+)+[/\\]?")
"""A compiler's `-I/path` has no space before the path."""
_URL = re.compile(r"\b[a-z][a-z0-9+.-]{0,20}://[^\s'\")\]]+")
_ADDRESS = re.compile(r"\b0x[0-9a-fA-F]{6,}\b")
_QUOTED = re.compile(r"""(?<!\w)(['"])((?:~?/|[A-Za-z]:\\|\\\\)[^'"\n]{1,400})\1""")
"""In quotes a path may have spaces."""
_USER = re.compile(r"(?<![\w.+@-])[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){0,8}")
_HOST = re.compile(
    r"\b(?:\d{1,3}\.){3}\d{1,3}(?::\d+)?\b"
    r"|(?<![\w.-])[\w-]{1,63}(?:\.[\w-]{1,63}){0,8}\.(?:local|internal|lan|corp|intra|com|net|org)\b(?![\w(])"
    r"|(?<![\w:])(?=[a-fA-F:]{0,6}\d)(?:(?:[0-9a-fA-F]{1,4}:){3,7}[0-9a-fA-F]{1,4}"
    r"|(?:[0-9a-fA-F]{1,4}:){1,7}:[0-9a-fA-F]{1,4}(?::[0-9a-fA-F]{1,4}){0,6})(?![\w:])"
)
_DEVICE = re.compile(r"\b(?:GPU|MIG)-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b")
_TOKEN = re.compile(r"\b(?:hf|ghp|gho|glpat|sk)[_-][A-Za-z0-9_-]{12,}")
_PID = re.compile(r"\b(pid|process|tid)[ =:]+\d+", re.IGNORECASE)
_KEEP_TAIL = re.compile(r"[\w.+-]+\.(?:cu|cuh|h|hpp|cc|cpp|py|so|o|cuda\.o|txt|json)$")
_LIMIT = 1200
_READ = 50_000
"""Characters of each end of a longer text that are looked at: a compiler may say megabytes."""


def scrub(text: str, limit: int = _LIMIT) -> str:
    """Return the text with paths reduced to a file name where it is a source file, else to <path>.

    URLs become <url>, memory addresses <address>, host names <host>, `name@host` and this user's name <user>. Longer
    texts keep their start and end. A text that was scrubbed before stays as it is.
    """
    text = clip(text)
    text = _URL.sub("<url>", text)
    text = _TOKEN.sub("<token>", text)
    text = _DEVICE.sub("<device>", text)
    text = _QUOTED.sub(_quoted, text)
    text = _USER.sub("<user>", text)
    text = _HOST.sub("<host>", text)
    for name, word in names():
        text = re.sub(rf"(?<![\w.]){re.escape(name)}(?![\w])", word, text)
    text = _PATH.sub(_path, text)
    text = _ADDRESS.sub("<address>", text)
    text = _PID.sub(r"\1 <n>", text)
    text = text.strip()
    if len(text) > limit:
        half = (limit - 7) // 2
        text = f"{text[:half]}\n [...]\n{text[-half:]}"
    return text


def clip(text: str) -> str:
    """Return both ends of a text of megabytes, which no pattern should have to search."""
    return text if len(text) <= 2 * _READ else f"{text[:_READ]}\n [...]\n{text[-_READ:]}"


def _path(match: re.Match[str]) -> str:
    path = match[0]
    if path.count("/") + path.count("\\") < 2 and not path.startswith(("/", "~")):
        return path
    if path.startswith("/") and path.count("/") == 1 and not _KEEP_TAIL.search(path):
        return path if len(path) < 3 else "<path>"
    name = _KEEP_TAIL.search(path)
    return f"<path>/{name[0]}" if name else "<path>"


def _quoted(match: re.Match[str]) -> str:
    name = _KEEP_TAIL.search(match[2])
    return f"{match[1]}{f'<path>/{name[0]}' if name else '<path>'}{match[1]}"


@lru_cache(maxsize=1)
def names() -> tuple[tuple[str, str], ...]:
    """Return this machine's and this user's names, where they are names and no plain word."""
    found = [(socket.gethostname(), "<host>"), (socket.gethostname().partition(".")[0], "<host>")]
    with contextlib.suppress(KeyError, OSError, ImportError):  # no such user, as in a container
        found.append((getpass.getuser(), "<user>"))
    return tuple((name, word) for name, word in found if len(name) > 3 and re.search(r"[\d._-]", name))
