"""Text files read with every byte kept, and written through a temporary file, so that none is left half-written."""

from __future__ import annotations

from pathlib import Path

from compatcheck.atomic import write_atomically
from compatcheck.docs.environment import DocsError


def read_text(path: Path) -> str:
    """Return a file's text with its line endings and byte order mark as they are. Raises `DocsError`."""
    try:
        return path.read_bytes().decode("utf-8")
    except OSError as error:
        raise DocsError(f"{path}: cannot be read: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise DocsError(f"{path}:{line}: not UTF-8") from error


def write_text(path: Path, text: str, *, flush: bool = True) -> None:
    """Replace a file's content, keeping its permissions; a link stays one, and what it leads to is replaced.

    Raises `OSError`; the old file stays then. `flush` is as in `write_atomically`.
    """
    write_atomically(path, text.encode("utf-8"), parents=True, flush=flush)
