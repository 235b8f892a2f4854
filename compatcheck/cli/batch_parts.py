"""A large batch on several cores: each process reads and judges a run of lines; the answers are joined in order."""

from __future__ import annotations

import os
import signal
import sys
import tempfile
from contextlib import ExitStack
from itertools import pairwise
from typing import TYPE_CHECKING, Any, BinaryIO, Generic, Protocol, TypeVar

from compatcheck.resolve.verdict import VerdictName

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

LEAST = 10_000
"""Lines for which a process of its own is worth its start; below twice that, all is done in this one."""
_CHUNK = 1 << 24

R = TypeVar("R")


class Judge(Protocol, Generic[R]):
    """Reads and judges runs of lines."""

    def read(self, start: int, stop: int) -> tuple[R, list[str]]:
        """Return the lines as they were read, and the problems of those that cannot be."""

    def write(self, rows: R, out: BinaryIO) -> set[VerdictName]:
        """Judge lines, write the answers, return which verdicts there were."""


def processes(lines: int) -> int:
    """Return how many processes a batch of so many lines is spread over: at most one for each core it may use."""
    if not hasattr(os, "sched_getaffinity"):  # Linux; elsewhere a forked process is not safe to go on with
        return 1
    return max(1, min(len(os.sched_getaffinity(0)), lines // LEAST))


def judge_in_parts(lines: int, parts: int, judge: Judge[R], out: BinaryIO) -> tuple[list[str], set[VerdictName]]:
    """Judge all lines, the first part here and each other in a process of its own, and write the answers in order.

    Nothing is judged before every line was read: where one cannot be, its problems are returned and nothing is
    written.
    """
    from multiprocessing import get_context

    bounds = [lines * part // parts for part in range(parts + 1)]
    sys.stdout.flush()
    context = get_context("fork")
    with ExitStack() as stack:
        others = []
        for start, stop in pairwise(bounds[1:]):
            answers = stack.enter_context(tempfile.TemporaryFile(prefix="compatcheck-"))
            here, there = context.Pipe()
            process = context.Process(target=_part, args=(judge, start, stop, answers, there), daemon=True)
            process.start()
            there.close()
            stack.callback(process.join)
            stack.callback(process.terminate)
            others.append((here, answers))
        rows, problems = judge.read(bounds[0], bounds[1])
        for other, _ in others:
            problems += _received(other)
        if problems:
            return problems, set()
        for other, _ in others:
            other.send(True)
        seen = judge.write(rows, out)
        out.flush()
        for other, answers in others:
            seen |= _received(other)
            answers.seek(0)
            while block := answers.read(_CHUNK):
                out.write(block)
        return [], seen


def _part(judge: Judge[R], start: int, stop: int, answers: BinaryIO, other: Connection) -> None:
    """Read a part, say what is wrong with it, and judge it once all parts were read."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches every process; the first one ends the others
    try:
        rows, problems = judge.read(start, stop)
        other.send(problems)
        if other.recv():
            seen = judge.write(rows, answers)
            answers.flush()
            other.send(seen)
    except Exception as error:  # told where it can be reported; nobody reads what this process says
        other.send(error)


def _received(other: Connection) -> Any:
    """Return what a process has found. Raises what it raised, and `ChildProcessError` where it is gone."""
    try:
        found = other.recv()
    except EOFError:
        raise ChildProcessError(
            "a process that judged a part of the batch is gone, perhaps for want of memory"
        ) from None
    if isinstance(found, Exception):
        raise found
    return found
