"""Work done in processes of their own, which are forked with everything that is known by then.

Forked by hand: a pool of the standard library starts threads, beside which no second one may be forked, and waits for
ever for a process that could not be started or was killed at the wrong moment.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import struct
import threading
from typing import TYPE_CHECKING, Generic, TypeVar

from compatcheck.aside import cores, fork

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")
_TASK = struct.Struct("=H")
_HEAD = struct.Struct("=HI?")
"""What stands before a result: task, length, and whether there is one."""


class Workers(Generic[T]):
    """A context with a process for each core but the own; without any where there is one. Whoever waits helps.

    Tasks are handed in by `add`, begun by `begin`, and looked for by `result`. Every process takes the next task from
    one pipe, and writes what came out to a pipe of its own; where it ends, its tasks are left to whoever wants them.
    """

    def __init__(self, known: T) -> None:
        self._known = known
        self._tasks: list[tuple[Callable[[T, str], bytes], str]] = []
        self._results: dict[int, bytes | None] = {}
        self._todo = -1
        self._processes: list[int] = []
        self._read: dict[int, bytearray] = {}
        """Each process' results: the pipe, and what of it is read and not whole yet."""
        self.several = cores() > 1 and threading.active_count() == 1
        """Whether tasks are taken: a lock that another thread holds would be held for ever in a forked process."""

    def __enter__(self) -> Workers[T]:
        return self

    def __exit__(self, *_: object) -> None:
        for process in self._processes:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        for pipe in (*self._read, *([self._todo] if self._todo >= 0 else [])):
            os.close(pipe)
        for process in self._processes:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(process, 0)
        self._processes, self._read, self._todo = [], {}, -1

    def add(self, task: Callable[[T, str], bytes], name: str) -> int | None:
        """Hand in a task, to be done with what is known, for a name. None where none is taken: do it here."""
        if not self.several:
            return None
        self._tasks.append((task, name))
        return len(self._tasks) - 1

    def begin(self) -> None:
        """Begin all tasks that were handed in; none is taken afterwards."""
        if not self._tasks:
            return
        self.several = False
        self._todo, writing = os.pipe()
        os.write(writing, b"".join([_TASK.pack(number) for number in range(len(self._tasks))]))
        os.close(writing)
        for _ in range(min(cores() - 1, len(self._tasks))):
            forked = fork(self._work)
            if forked is None:
                break
            process, reading = forked
            self._processes.append(process)
            self._read[reading] = bytearray()

    @property
    def busy(self) -> bool:
        """Whether tasks are being done elsewhere."""
        if self._read:
            self._receive(0)
        return bool(self._read)

    def result(self, number: int | None) -> bytes | None:
        """Wait for a task's result. None where it is to be done here: not taken, failed, or its process ended.

        As long as there are tasks that nobody has begun, they are done here meanwhile.
        """
        if number is None:
            return None
        while number not in self._results:
            taken = self._take()
            if taken is not None:
                self._results[taken] = self._do(taken)
            elif not self._read:
                return None
            self._receive(0 if taken is not None else None)
        return self._results.pop(number)

    # ---------------------------------------------------------------------------------------------- inside

    def _take(self) -> int | None:
        """Return the next task that nobody has begun."""
        taken = os.read(self._todo, _TASK.size) if self._todo >= 0 else b""
        return None if not taken else int(_TASK.unpack(taken)[0])

    def _do(self, number: int) -> bytes | None:
        """Return what comes out of a task; None where it fails: it fails again, and is said, where it is done anew."""
        task, name = self._tasks[number]
        try:
            return task(self._known, name)
        except Exception:
            return None

    def _work(self, writing: int) -> None:
        """Do tasks until there are none left. Results are written as the pipe takes them, so that nobody waits."""
        for pipe in self._read:  # what others write is not read here, so that they learn where nobody reads it
            os.close(pipe)
        os.set_blocking(writing, False)
        left = bytearray()
        while (number := self._take()) is not None:
            said = self._do(number)
            left += _HEAD.pack(number, len(said or b""), said is not None) + (said or b"")
            with contextlib.suppress(BlockingIOError):
                while left:
                    del left[: os.write(writing, left)]
        os.set_blocking(writing, True)
        while left:
            del left[: os.write(writing, left)]

    def _receive(self, timeout: float | None) -> None:
        """Take in the results that are there; wait for some where no time is given."""
        ready, _, _ = select.select(list(self._read), [], [], timeout)
        for pipe in ready:
            data = os.read(pipe, 1 << 20)
            if not data:
                os.close(pipe)
                del self._read[pipe]
                continue
            received = self._read[pipe]
            received += data
            while len(received) >= _HEAD.size:
                number, length, done = _HEAD.unpack_from(received)
                if len(received) < _HEAD.size + length:
                    break
                self._results[number] = bytes(received[_HEAD.size : _HEAD.size + length]) if done else None
                del received[: _HEAD.size + length]
