"""Where the process starts: the short way for a plain check, the whole command line for everything else."""

from __future__ import annotations

import gc
import os
import sys

from compatcheck.cli.exit_codes import GONE
from compatcheck.cli.leave import leave


def _open_what_is_closed() -> None:
    """Give closed standard streams (`>&-`) a place that takes everything and holds nothing, as a shell does on its own.

    The lowest free descriptor is the closed stream's own, so no file opened later is taken for it.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_RDWR), mode, encoding="utf-8"))


def start() -> None:
    """Run the command line as all that this process does."""
    try:
        entry()
    except SystemExit as left:
        code = left.code
    leave(code if isinstance(code, int) else 0)


def entry() -> None:
    """Run the command line and raise `SystemExit` with its exit code."""
    _open_what_is_closed()
    gc.disable()  # a short-lived process: collecting the matrix again and again costs a tenth of a cold check
    if sys.argv[1:2] == ["check"]:
        from compatcheck.cli.fast_check import run

        try:
            code = run(sys.argv[2:])
            sys.stdout.flush()
        except KeyboardInterrupt:
            sys.stderr.write("\nStopped.\n")
            code = 130
        except BrokenPipeError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            code = GONE
        except Exception:
            code = None  # the full command meets the same fault, and knows how to tell of it
        if code is not None:
            sys.exit(code)
    from compatcheck.cli.main import entry as full

    full()
