"""A large batch on several cores: each process reads and judges some runs of lines; the answers are joined in order."""

from __future__ import annotations

import os
import signal
import sys
import tempfile
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from operator import itemgetter
from typing import TYPE_CHECKING, Any, BinaryIO, Generic, Protocol, TypeVar

from compatcheck.cli.batch_answers import Answers, Told, join
from compatcheck.cli.batch_runs import Run
from compatcheck.resolve.verdict import Verdict, VerdictName

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

LEAST = 10_000
"""Lines for which a process of its own is worth its start; below twice that, all is done in this one."""

R = TypeVar("R")
Problem = tuple[int, str]
"""The number of a line that cannot be read, and what is to be said of it."""


class Judge(Protocol, Generic[R]):
    """Reads and judges runs of lines."""

    def read(self, start: int, stop: int) -> tuple[R, list[Problem]]:
        """Return a run of lines as it was read, and the problems of those that cannot be."""

    def verdicts(self, rows: R) -> Iterable[Verdict]:
        """Judge a run of lines that was read."""


def processes(lines: int) -> int:
    """Return how many processes a batch of so many lines is spread over: at most one for each core it may use."""
    if not hasattr(os, "sched_getaffinity"):  # Linux; elsewhere a forked process is not safe to go on with
        return 1
    return max(1, min(len(os.sched_getaffinity(0)), lines // LEAST))


def judge_in_parts(runs: Sequence[Run], judge: Judge[R], out: BinaryIO) -> tuple[list[Problem], set[VerdictName]]:
    """Judge all lines, those of part 0 here and each other part in a process of its own; write the answers in order.

    Nothing is judged before every line was read: where one cannot be, its problems are returned, in order, and nothing
    is written.
    """
    from multiprocessing import get_context

    parts = 1 + max(run.part for run in runs)
    sys.stdout.flush()
    context = get_context("fork")
    with ExitStack() as stack:
        answers = [stack.enter_context(tempfile.TemporaryFile(prefix="compatcheck-")) for _ in range(parts)]
        others = []
        for part in range(1, parts):
            here, there = context.Pipe()
            process = context.Process(target=_part, args=(judge, _of(runs, part), answers[part], there), daemon=True)
            process.start()
            there.close()
            stack.callback(process.join)
            stack.callback(process.terminate)
            others.append(here)
        read, problems = _read(judge, _of(runs, 0))
        for other in others:
            problems += _received(other)
        if problems:
            return sorted(problems, key=itemgetter(0)), set()
        for other in others:
            other.send(True)
        done = [_written(judge, read, answers[0]), *map(_received, others)]
        counts = [(run.part, run.stop - run.start) for run in runs]
        join(counts, list(zip(answers, done, strict=True)), out)
        return [], set().union(*(told.seen for told in done))


def _of(runs: Sequence[Run], part: int) -> list[Run]:
    return [run for run in runs if run.part == part]


def _read(judge: Judge[R], runs: list[Run]) -> tuple[list[R], list[Problem]]:
    read: list[R] = []
    problems: list[Problem] = []
    for run in runs:
        rows, wrong = judge.read(run.start, run.stop)
        read.append(rows)
        problems += wrong
    return read, problems


def _written(judge: Judge[R], read: list[R], file: BinaryIO) -> Told:
    """Judge runs of lines, write their answers to a file and return what is known of them."""
    answers = Answers(file)
    for rows in read:
        answers.write(judge.verdicts(rows))
    return answers.told()


def _part(judge: Judge[R], runs: list[Run], answers: BinaryIO, other: Connection) -> None:
    """Read a part, say what is wrong with it, and judge it once all parts were read."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches every process; the first one ends the others
    try:
        read, problems = _read(judge, runs)
        other.send(problems)
        if other.recv():
            other.send(_written(judge, read, answers))
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
