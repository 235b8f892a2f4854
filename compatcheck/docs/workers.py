"""Work done in processes of their own, which are forked with everything that is read and compiled by then."""

from __future__ import annotations

import os
import sys
from contextlib import ExitStack
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from concurrent.futures import Future, ProcessPoolExecutor

    from compatcheck.docs.space import Space

_space: Space | None = None
"""Set before the processes are forked, which is how they get it."""


class Workers:
    """A context with a process for each core, started with the first task; without any where there is one core."""

    def __init__(self, space: Space) -> None:
        self._space = space
        self._stack = ExitStack()
        self._pool: ProcessPoolExecutor | None = None
        self.several = cores() > 1
        """Whether tasks are taken."""

    def __enter__(self) -> Workers:
        return self

    def __exit__(self, *_: object) -> None:
        global _space
        self._stack.close()
        _space = None

    def submit(self, task: Callable[[Space, str], bytes], name: str) -> Future[bytes] | None:
        """Have a task done for a name. None where it cannot be: it is to be done here then."""
        if not self.several:
            return None
        try:
            return self._started().submit(_do, task, name)
        except OSError:  # no more processes are allowed
            self.several = False
            return None

    @staticmethod
    def result(coming: Future[bytes] | None) -> bytes | None:
        """Wait for a task's result; None where it was not taken, or its process came to an end."""
        from concurrent.futures import BrokenExecutor

        try:
            return None if coming is None else coming.result()
        except BrokenExecutor:
            return None

    def _started(self) -> ProcessPoolExecutor:
        import multiprocessing
        from concurrent.futures import ProcessPoolExecutor

        global _space
        if self._pool is None:
            sys.stdout.flush()
            sys.stderr.flush()
            _space = self._space
            self._pool = ProcessPoolExecutor(cores(), mp_context=multiprocessing.get_context("fork"))
            self._stack.callback(self._pool.shutdown, cancel_futures=True)
        return self._pool


def _do(task: Callable[[Space, str], bytes], name: str) -> bytes:
    assert _space is not None
    return task(_space, name)


def cores() -> int:
    """Return how many processes may work at once: the cores that may be used, or one where forking is not safe."""
    if not hasattr(os, "sched_getaffinity"):  # Linux; elsewhere a forked process is not safe to go on with
        return 1
    return len(os.sched_getaffinity(0))
