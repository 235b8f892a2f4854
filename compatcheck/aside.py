"""One piece of work done in a process of its own while this one goes on. Linux only: elsewhere forking is not safe."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator


class Aside:
    """Work that is under way elsewhere; what it is done with is what was known when it was begun."""

    def __init__(self, process: int, reading: int) -> None:
        self._owner = os.getpid()
        self._process: int | None = process
        self._reading = reading

    @classmethod
    def begin(cls, work: Callable[[], bytes]) -> Aside | None:
        """Begin some work. None where there is one core, or where no process may be started: it is to be done here."""
        # A lock that another thread holds would be held for ever in the new process.
        if cores() < 2 or threading.active_count() > 1:
            return None

        def write(writing: int) -> None:
            with os.fdopen(writing, "wb") as stream:
                stream.write(b"\0" + work())  # so that an empty result is one, too

        forked = fork(write)
        return None if forked is None else cls(*forked)

    def result(self) -> bytes | None:
        """Wait for what came out; None where the work failed, or was stopped. To be asked once."""
        with os.fdopen(self._reading, "rb") as stream:
            said = stream.read()
        self._leave()
        return said[1:] if said else None

    def stop(self) -> None:
        """End the work where its result is not wanted any more."""
        if self._process is not None and self._owner == os.getpid():  # not a copy in another forked process
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._process, signal.SIGKILL)
            with contextlib.suppress(OSError):  # closed where waiting for it was interrupted
                os.close(self._reading)
            self._leave()

    def _leave(self) -> None:
        if self._process is not None:
            process, self._process = self._process, None
            with contextlib.suppress(ChildProcessError):
                os.waitpid(process, 0)

    def __del__(self) -> None:
        self.stop()


def fork(work: Callable[[int], None]) -> tuple[int, int] | None:
    """Fork a process that does some work, which writes to a pipe, and ends.

    Returns the process and the pipe's end to read from; None where no more processes are allowed.
    """
    for stream in (sys.stdout, sys.stderr):  # what is not written yet would be written twice
        stream.flush()
    reading, writing = os.pipe()
    try:
        process = os.fork()
    except OSError:
        os.close(reading)
        os.close(writing)
        return None
    if not process:
        with _alone():
            os.close(reading)
            work(writing)
    os.close(writing)
    return process, reading


@contextlib.contextmanager
def _alone() -> Iterator[None]:
    """Within it a forked process does its work; it ends afterwards, and says nothing of whatever ends it before."""
    try:
        for number in (signal.SIGINT, signal.SIGTERM):  # whoever forked it deals with these; it just goes
            if signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, signal.SIG_DFL)
        yield
    finally:
        os._exit(0)


def cores() -> int:
    """Return how many processes may work at once: the cores that may be used, or one where forking is not safe."""
    if not hasattr(os, "sched_getaffinity"):
        return 1
    return len(os.sched_getaffinity(0))
