"""A large batch on several cores: each process reads and judges groups of lines; the answers are joined in order."""

from __future__ import annotations

import os
import signal
import sys
import tempfile
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from operator import itemgetter
from typing import TYPE_CHECKING, Any, BinaryIO, Generic, NamedTuple, Protocol, TypeVar

import msgspec

from compatcheck.cli.batch_answers import Answers, Told, join
from compatcheck.cli.batch_runs import Run
from compatcheck.resolve.verdict import Verdict, VerdictName

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

LEAST = 10_000
"""Lines for which a process of its own is worth its start; below twice that, all is done in this one."""
_BUFFER = 1 << 20
_TURN = 4
"""Bytes that stand for a group in the pipe: it holds 16 times as many as there can be."""

R = TypeVar("R")
Problem = tuple[int, str]
"""The number of a line that cannot be read, and what is to be said of it."""


class Judge(Protocol, Generic[R]):
    """Reads and judges runs of lines."""

    def read(self, start: int, stop: int) -> tuple[R, list[Problem]]:
        """Return a run of lines as it was read, and the problems of those that cannot be."""

    def verdicts(self, rows: R) -> Iterable[Verdict]:
        """Judge a run of lines that was read, one when its verdict is asked for."""


def processes(lines: int) -> int:
    """Return how many processes a batch of so many lines is spread over: at most one for each core it may use."""
    if not hasattr(os, "sched_getaffinity"):  # Linux; elsewhere a forked process is not safe to go on with
        return 1
    return max(1, min(len(os.sched_getaffinity(0)), lines // LEAST))


def judge_in_parts(
    runs: Sequence[Run], parts: int, judge: Judge[R], out: BinaryIO
) -> tuple[list[Problem], set[VerdictName]]:
    """Judge all lines, in this process and as many others as make `parts`, and write the answers in order.

    Each process begins with a group of its own and takes another whenever it is done with one. Nothing is written
    before every line was read: where one cannot be, its problems are returned, in order, and nothing is written.
    """
    from multiprocessing import get_context

    groups: dict[int, list[int]] = {}
    for at, run in enumerate(runs):
        groups.setdefault(run.group, []).append(at)
    parts = min(parts, len(groups))
    sys.stdout.flush()
    context = get_context("fork")
    with ExitStack() as stack:
        files: list[Any] = [
            stack.enter_context(tempfile.TemporaryFile("w+b", _BUFFER, prefix="compatcheck-")) for _ in range(parts)
        ]
        turns = _turns(range(parts, len(groups)))
        stack.callback(os.close, turns)
        work = _Work(runs, groups, judge, turns)
        others = []
        for part in range(1, parts):
            here, there = context.Pipe()
            process = context.Process(target=_elsewhere, args=(work, part, files[part], there), daemon=True)
            process.start()
            there.close()
            stack.callback(process.join)
            stack.callback(process.terminate)
            others.append(here)
        done = [work.do(0, files[0]), *map(_received, others)]
        problems = [problem for one in done for problem in one.problems]
        if problems:
            return sorted(problems, key=itemgetter(0)), set()
        counts = [(run.stop - run.start) for run in runs]
        join(counts, [(file, one.told, one.runs) for file, one in zip(files, done, strict=True)], out)
        return [], set().union(*(one.told.seen for one in done))


class Done(NamedTuple):
    """What a process has done: the problems of its lines; or its answers, and which runs they are of, in order."""

    problems: list[Problem]
    told: Told
    runs: list[int]


class _Work(msgspec.Struct, Generic[R]):
    """Groups of runs, and a pipe from which every process takes the next one that nobody has."""

    runs: Sequence[Run]
    groups: dict[int, list[int]]
    judge: Judge[R]
    turns: int

    def do(self, group: int, file: BinaryIO) -> Done:
        """Read and judge a group, and others as long as there are any; only read them once a line cannot be read."""
        answers = Answers(file)
        problems: list[Problem] = []
        taken: list[int] = []
        turn = group.to_bytes(_TURN, "little")
        while turn:
            runs = self.groups[int.from_bytes(turn, "little")]
            read = [self.judge.read(self.runs[at].start, self.runs[at].stop) for at in runs]
            problems += [problem for _, wrong in read for problem in wrong]
            if not problems:
                # All lines of the group are announced before the first of them is judged.
                for verdicts in [self.judge.verdicts(rows) for rows, _ in read]:
                    answers.write(verdicts)
                taken += runs
            turn = os.read(self.turns, _TURN)
        return Done(problems, answers.told(), taken)


def _turns(groups: Iterable[int]) -> int:
    """Return the end of a pipe that gives the number of each group once, whoever reads it."""
    turns, end = os.pipe()
    try:
        os.write(end, b"".join([group.to_bytes(_TURN, "little") for group in groups]))
    finally:
        os.close(end)
    return turns


def _elsewhere(work: _Work[R], group: int, file: BinaryIO, other: Connection) -> None:
    """Work in a process of its own, and send what was done."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches every process; the first one ends the others
    try:
        other.send(work.do(group, file))
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
