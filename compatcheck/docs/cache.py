"""Compiled templates in the user's cache directory. A cache that cannot be used is done without."""

from __future__ import annotations

import contextlib
import hashlib
import os
from pathlib import Path
from typing import TYPE_CHECKING

from compatcheck.caches import cache_folder

if TYPE_CHECKING:
    from jinja2 import BytecodeCache


def compiled_templates(salt: bytes) -> BytecodeCache | None:
    """Return what keeps compiled templates, under their content and `salt`: what else decides how they are compiled.

    None where there is no folder that is the user's own: compiled code is only read from where nobody else writes.
    """
    from jinja2 import FileSystemBytecodeCache
    from jinja2.bccache import Bucket

    class Kept(FileSystemBytecodeCache):
        def get_source_checksum(self, source: str) -> str:
            return hashlib.sha256(salt + b"\0" + source.encode()).hexdigest()

        def load_bytecode(self, bucket: Bucket) -> None:
            try:
                super().load_bytecode(bucket)
            except Exception:  # whatever a damaged file leads to: the template is compiled again
                bucket.reset()

        def dump_bytecode(self, bucket: Bucket) -> None:
            with contextlib.suppress(OSError):
                super().dump_bytecode(bucket)

    folder = templates_folder()
    return None if folder is None else Kept(str(folder))


def templates_folder() -> Path | None:
    """Return the folder of compiled templates, made where it is missing; None where it is not the user's own."""
    try:
        folder = Path(cache_folder()) / "templates"
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        found = folder.stat()
    except OSError:
        return None
    own = hasattr(os, "getuid") and found.st_uid == os.getuid() and not found.st_mode & 0o022
    return folder if own else None
