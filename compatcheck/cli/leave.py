"""The end of the process: everything that was said is out, so nothing is left to take apart."""

from __future__ import annotations

import os
import sys
from typing import NoReturn


def leave(code: int) -> NoReturn:
    """End the process with an exit code, standard streams flushed and exit handlers run.

    Python would first free every object one by one, which takes a tenth of a cold check and of a large batch. Where
    other threads run, they are waited for as usual. Raises `OSError` where a stream cannot be flushed.
    """
    threading = sys.modules.get("threading")
    if threading is not None and threading.active_count() > 1:
        sys.exit(code)
    import atexit

    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)
