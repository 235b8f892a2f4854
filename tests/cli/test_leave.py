"""The end of the process: exit handlers run, what was said is out, other threads are waited for."""

from __future__ import annotations

import subprocess
import sys

from .conftest import ROOT

LEAVE = """
import atexit, sys, threading, time
from compatcheck.cli.leave import leave
atexit.register(lambda: sys.stdout.write("handler\\n"))
sys.stdout.write("said\\n")
{more}
leave(3)
sys.stdout.write("after\\n")
"""
THREAD = "threading.Thread(target=lambda: (time.sleep(0.3), sys.stdout.write('thread\\n'))).start()"


def left(more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", LEAVE.format(more=more)], cwd=ROOT, capture_output=True, text=True, timeout=60
    )


def test_exit_handlers_run_and_everything_is_out() -> None:
    done = left("")
    assert (done.returncode, done.stdout, done.stderr) == (3, "said\nhandler\n", "")


def test_another_thread_is_waited_for() -> None:
    done = left(THREAD)
    assert (done.returncode, done.stdout, done.stderr) == (3, "said\nthread\nhandler\n", "")
