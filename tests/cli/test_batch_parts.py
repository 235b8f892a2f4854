"""Parts of a batch in processes of their own: answers in order, problems of all, faults told where they are seen."""

from __future__ import annotations

import io
import os
import signal
from collections.abc import Iterator

import msgspec
import pytest

from compatcheck.cli.batch_parts import LEAST, Problem, judge_in_parts, processes
from compatcheck.cli.batch_runs import Run
from compatcheck.resolve.verdict import Verdict


class Job:
    """Answers with the numbers of its lines; a fault befalls every process but the first."""

    def __init__(self, fault: str | None = None, bad: frozenset[int] = frozenset()) -> None:
        self.fault = fault
        self.bad = bad
        self.judged: list[range] = []
        self.pid = os.getpid()

    def read(self, start: int, stop: int) -> tuple[range, list[Problem]]:
        if self.fault == "unreadable" and os.getpid() != self.pid:
            raise OSError("cannot be read")
        return range(start, stop), [(n, f"line {n}") for n in range(start, stop) if n in self.bad]

    def verdicts(self, rows: range) -> Iterator[Verdict]:
        self.judged.append(rows)
        if os.getpid() != self.pid and self.fault == "killed":
            os.kill(os.getpid(), signal.SIGKILL)
        if os.getpid() != self.pid and self.fault == "full":
            raise OSError(28, "No space left on device")
        for row in rows:
            yield Verdict(verdict="supported" if row else "unknown", engine_accepts=None, untested=str(row))


def even(lines: int, parts: int) -> list[Run]:
    return [Run(lines * part // parts, lines * (part + 1) // parts, part) for part in range(parts)]


def numbers(out: io.BytesIO) -> list[int]:
    return [int(msgspec.json.decode(line)["untested"]) for line in out.getvalue().splitlines()]


@pytest.mark.parametrize("parts", [1, 2, 5])
@pytest.mark.parametrize("groups", [1, 2, 5, 40])
def test_answers_are_in_order_whatever_the_number_of_processes(parts: int, groups: int) -> None:
    out = io.BytesIO()
    problems, seen = judge_in_parts(even(1003, groups), parts, Job(), out)
    assert problems == []
    assert numbers(out) == list(range(1003))
    assert seen == {"unknown", "supported"}


def test_what_another_process_has_seen_is_told() -> None:
    """Only the second group, with which the other process begins, has the line that is supported."""
    job = Job()
    assert judge_in_parts([Run(0, 1, 0), Run(1, 2, 1)], 2, job, io.BytesIO()) == ([], {"unknown", "supported"})
    assert job.judged == [range(1)]


@pytest.mark.parametrize("order", [[0, 1, 0, 1], [1, 0, 2, 0, 1, 2, 2], [2, 1, 0, 0], [3, 2, 1, 0, 4, 4, 0, 1, 2]])
def test_runs_of_different_groups_are_put_together_in_the_order_of_their_lines(order: list[int]) -> None:
    runs = [Run(300 * at, 300 * (at + 1), group) for at, group in enumerate(order)]
    runs.append(Run(300 * len(order), 300 * len(order), 0))  # a run of no line harms nobody
    out = io.BytesIO()
    judge_in_parts(runs, 2, Job(), out)
    assert numbers(out) == list(range(300 * len(order)))


def test_every_group_is_done_once_by_whoever_is_free() -> None:
    """Long groups keep a process busy while another takes what is left; no run is missing, none is double."""
    job, out = Job(), io.BytesIO()
    sizes = [5000, 4000, *[10] * 100]
    starts = [sum(sizes[:at]) for at in range(len(sizes))]
    judge_in_parts([Run(s, s + n, at) for at, (s, n) in enumerate(zip(starts, sizes, strict=True))], 2, job, out)
    assert numbers(out) == list(range(sum(sizes)))
    assert job.judged[0] == range(5000)
    assert len(set(job.judged)) == len(job.judged)


def test_problems_of_every_group_in_the_order_of_their_lines_and_no_answer() -> None:
    out = io.BytesIO()
    job = Job(bad=frozenset({3, 15, 16, 31}))
    problems, seen = judge_in_parts([Run(0, 10, 1), Run(10, 20, 0), Run(20, 30, 2), Run(30, 40, 1)], 3, job, out)
    assert problems == [(n, f"line {n}") for n in (3, 15, 16, 31)]
    assert (seen, out.getvalue()) == (set(), b"")


def test_after_a_problem_lines_are_only_read() -> None:
    job, out = Job(bad=frozenset({0, 99})), io.BytesIO()
    problems, _ = judge_in_parts(even(100, 10), 1, job, out)
    assert problems == [(0, "line 0"), (99, "line 99")]
    assert (out.getvalue(), job.judged) == (b"", [])


@pytest.mark.parametrize(
    ("fault", "said"), [("killed", "is gone"), ("full", "No space left on device"), ("unreadable", "cannot be read")]
)
def test_what_befalls_another_process_is_raised_here(fault: str, said: str) -> None:
    out = io.BytesIO()
    with pytest.raises(OSError, match=said):
        judge_in_parts(even(30, 3), 3, Job(fault), out)
    assert out.getvalue() == b""


def test_small_batches_stay_in_one_process() -> None:
    assert processes(2 * LEAST - 1) == 1
    assert processes(100 * LEAST) <= len(os.sched_getaffinity(0))
