"""Write a file so that a reader sees the old one or the new one, never half of it."""

from __future__ import annotations

import contextlib
import os
import stat
from pathlib import Path

_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL


def write_atomically(path: Path, data: bytes, *, parents: bool = False, flush: bool = True) -> None:
    """Write to a temporary file in the same folder, which then takes the file's place, with its permissions.

    With `parents`, missing folders are made. Without `flush` nobody waits for the disk: for what can be made again,
    since after a power failure the file may be neither the old one nor the new one. A link stays one: what it leads to
    is replaced. A device or a pipe is written to as it is. Raises `OSError`; the old file is then still whole.
    """
    target = os.fspath(path)
    there: os.stat_result | None = None
    with contextlib.suppress(FileNotFoundError, NotADirectoryError):
        there = os.lstat(target)
        if stat.S_ISLNK(there.st_mode):
            target, there = os.path.realpath(target), None
            there = os.stat(target)
    folder, name = os.path.split(target)
    if there is not None and not stat.S_ISREG(there.st_mode):
        # Renaming over /dev/null would replace the device for everyone.
        Path(target).write_bytes(data)
        return
    temporary = os.path.join(folder, f".{name[:200]}.{os.urandom(8).hex()}")
    # What the user's umask allows, as for any new file; a file that is replaced keeps what it has.
    mode = 0o666 if there is None else 0o600
    try:  # from before the file is there: whatever stops this leaves none
        descriptor = _opened(temporary, mode, folder if parents else None)
        try:
            left = memoryview(data)
            while left:
                left = left[os.write(descriptor, left) :]
            if flush:
                os.fsync(descriptor)
        finally:
            os.close(descriptor)
        if there is not None:
            os.chmod(temporary, there.st_mode & 0o777)
        os.replace(temporary, target)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def _opened(temporary: str, mode: int, folder: str | None) -> int:
    """Open a new file; its folder is made where it is missing and given."""
    try:
        return os.open(temporary, _NEW, mode)
    except FileNotFoundError:
        if folder is None:
            raise
        os.makedirs(folder, exist_ok=True)
        return os.open(temporary, _NEW, mode)
