"""Write a file so that a reader sees the old one or the new one, never half of it."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path


def write_atomically(path: Path, data: bytes, *, parents: bool = False, flush: bool = True) -> None:
    """Write to a temporary file in the same folder, which then takes the file's place, with its permissions.

    With `parents`, missing folders are made. Without `flush` nobody waits for the disk: for what can be made again,
    since after a power failure the file may be neither the old one nor the new one. A link stays one: what it leads to
    is replaced. A device or a pipe is written to as it is. Raises `OSError`; the old file is then still whole.
    """
    path = Path(os.path.realpath(path))
    if parents:
        path.parent.mkdir(parents=True, exist_ok=True)
    if path.exists() and not path.is_file():
        # Renaming over /dev/null would replace the device for everyone.
        path.write_bytes(data)
        return
    mode = path.stat().st_mode & 0o777 if path.exists() else 0o666 & ~_umask()
    descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(data)
            if flush:
                stream.flush()
                os.fsync(stream.fileno())
        os.chmod(name, mode)
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def _umask() -> int:
    """Return which permissions new files are without; it can only be read by setting it."""
    found = os.umask(0o077)
    os.umask(found)
    return found
