"""Answers kept from run to run in the user's cache directory, each under the digest of what it was made from.

One file holds the newest answers of each backend. A file that cannot be read, is damaged or was made by something else
is as good as none; one that cannot be written is left out.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from typing import TYPE_CHECKING

import msgspec

from compatcheck.docs.cache import cache_folder
from compatcheck.docs.sheets import Answered

if TYPE_CHECKING:
    from pathlib import Path


class Entry(msgspec.Struct, array_like=True):
    """One backend's answers and the digest of what they were made from."""

    digest: str
    answered: Answered


def recall(engine: str) -> dict[str, Entry]:
    """Return what is kept of an engine's backends."""
    try:
        data = _file(engine).read_bytes()
        checksum, body = data[:32], data[32:]
        if hashlib.sha256(body).digest() != checksum:
            return {}
        return msgspec.msgpack.decode(body, type=dict[str, Entry])
    except (OSError, msgspec.MsgspecError):
        return {}


def keep(engine: str, entries: dict[str, Entry]) -> None:
    """Keep these answers in place of all that were kept of the engine."""
    path = _file(engine)
    temporary = path.with_suffix(f".{os.getpid()}.tmp")
    body = msgspec.msgpack.encode(entries)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary.write_bytes(hashlib.sha256(body).digest() + body)
        temporary.replace(path)
    except BaseException as error:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)
        if not isinstance(error, OSError):  # Ctrl-C: leave nothing, and stop
            raise


def _file(engine: str) -> Path:
    name = "".join(c if c.isalnum() else "-" for c in engine)
    return cache_folder() / f"docs-answers-{name}.bin"
