"""Answers kept from run to run in the user's cache directory, beside the digest of what they were made from.

A file that cannot be read, is damaged or was made by something else is as good as none; one that cannot be written is
left out.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from compatcheck.caches import cache_folder

T = TypeVar("T")


def recall(name: str, type_: type[T]) -> T | None:
    """Return what is kept under a name, of a type that msgspec reads; None where there is nothing of use."""
    try:
        data = _file(name).read_bytes()
        checksum, body = data[:32], data[32:]
        if hashlib.sha256(body).digest() != checksum:
            return None
        return msgspec.msgpack.decode(body, type=type_)
    except (OSError, msgspec.MsgspecError):
        return None


def keep(name: str, value: Any) -> None:
    """Keep a value under a name, in place of what was kept there."""
    try:
        path = _file(name)
    except OSError:
        return
    temporary = path.with_suffix(f".{os.getpid()}.tmp")
    body = msgspec.msgpack.encode(value)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary.write_bytes(hashlib.sha256(body).digest() + body)
        temporary.replace(path)
    except BaseException as error:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)
        if not isinstance(error, OSError):  # Ctrl-C: leave nothing, and stop
            raise


def _file(name: str) -> Path:
    return Path(cache_folder()) / f"docs-{''.join(c if c.isalnum() else '-' for c in name)}.bin"
