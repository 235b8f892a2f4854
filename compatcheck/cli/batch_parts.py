"""A large batch on several cores: each process reads and judges a run of lines; the answers are joined in order."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

from compatcheck.resolve.verdict import VerdictName

LEAST = 10_000
"""Lines for which a process of its own is worth its start; below twice that, all is done in this one."""

Judge = Callable[[int, int, BinaryIO], tuple[list[str], set[VerdictName]]]
"""Reads lines start to stop and writes their answers; returns problems of unreadable lines, and the verdicts."""

_judge: Judge | None = None
"""Set before the processes are forked, which is how they get it."""


def processes(lines: int) -> int:
    """Return how many processes a batch of so many lines is spread over: at most one for each core it may use."""
    if not hasattr(os, "sched_getaffinity"):  # Linux; elsewhere a forked process is not safe to go on with
        return 1
    return max(1, min(len(os.sched_getaffinity(0)), lines // LEAST))


def judge_in_parts(lines: int, parts: int, judge: Judge, out: BinaryIO) -> tuple[list[str], set[VerdictName]]:
    """Judge all lines in so many processes and write the answers, in order, if every line can be read."""
    import multiprocessing
    from concurrent.futures import ProcessPoolExecutor

    global _judge
    bounds = [lines * part // parts for part in range(parts + 1)]
    problems: list[str] = []
    seen: set[VerdictName] = set()
    sys.stdout.flush()
    with tempfile.TemporaryDirectory(prefix="compatcheck-") as folder:
        _judge = judge
        files = [Path(folder) / str(part) for part in range(parts)]
        try:
            with ProcessPoolExecutor(parts, mp_context=multiprocessing.get_context("fork")) as pool:
                for found, verdicts in pool.map(_part, bounds, bounds[1:], files):
                    problems += found
                    seen |= verdicts
        finally:
            _judge = None
        if not problems:
            for file in files:
                with file.open("rb") as answers:
                    shutil.copyfileobj(answers, out, 1 << 20)
    return problems, seen


def _part(start: int, stop: int, file: Path) -> tuple[list[str], set[VerdictName]]:
    assert _judge is not None
    with file.open("wb") as out:
        return _judge(start, stop, out)
