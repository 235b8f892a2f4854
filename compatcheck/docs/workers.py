"""Work done in processes of their own, which are forked with everything that is known by then."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from itertools import count
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from compatcheck.aside import cores

if TYPE_CHECKING:
    from collections.abc import Callable
    from concurrent.futures import Future, ProcessPoolExecutor

T = TypeVar("T")
_numbers = count()
_known: dict[int, Any] = {}
"""What the tasks of each context are done with, put here before its processes are forked: that is how they get it."""


class Workers(Generic[T]):
    """A context with a process for each core, started with the first task; without any where there is one core.

    Whoever waits for a task that is not begun yet does it himself.
    """

    def __init__(self, known: T) -> None:
        self._number = next(_numbers)
        _known[self._number] = known
        self._stack = ExitStack()
        self._pool: ProcessPoolExecutor | None = None
        self.several = cores() > 1
        """Whether tasks are taken."""

    def __enter__(self) -> Workers[T]:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()
        del _known[self._number]

    def submit(self, task: Callable[[T, str], bytes], name: str) -> Future[bytes] | None:
        """Have a task done, with what is known, for a name. None where it cannot be: it is to be done here then."""
        if not self.several:
            return None
        try:
            return self._started().submit(_do, task, self._number, name)
        except OSError:  # no more processes are allowed
            self.several = False
            return None

    @staticmethod
    def result(coming: Future[bytes] | None) -> bytes | None:
        """Wait for a task's result; None where it is to be done here: not taken, not begun, or its process ended."""
        from concurrent.futures import BrokenExecutor

        if coming is None or coming.cancel():
            return None
        try:
            return coming.result()
        except BrokenExecutor:
            return None

    def _started(self) -> ProcessPoolExecutor:
        import multiprocessing
        from concurrent.futures import ProcessPoolExecutor

        if self._pool is None:
            sys.stdout.flush()
            sys.stderr.flush()
            self._pool = ProcessPoolExecutor(cores(), mp_context=multiprocessing.get_context("fork"))
            self._stack.callback(self._pool.shutdown, cancel_futures=True)
        return self._pool


def _do(task: Callable[[Any, str], bytes], number: int, name: str) -> bytes:
    return task(_known[number], name)
