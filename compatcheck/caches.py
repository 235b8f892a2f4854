"""Where this package keeps what it can make again."""

from __future__ import annotations

import os


def cache_folder() -> str:
    """Return the folder of this package's caches; it need not be there yet.

    It is under COMPATCHECK_CACHE_DIR, else XDG_CACHE_HOME, else ~/.cache. Raises `OSError` where none of these is
    known, as for a user without an entry in the system's list. A cold check asks, so pathlib is not imported for it.
    """
    base = os.environ.get("COMPATCHECK_CACHE_DIR") or os.environ.get("XDG_CACHE_HOME")
    folder = base or os.path.join(os.path.expanduser("~"), ".cache")
    if folder.startswith("~"):
        raise FileNotFoundError(2, "no home directory is known; set COMPATCHECK_CACHE_DIR")
    return os.path.join(folder, "compatcheck")
