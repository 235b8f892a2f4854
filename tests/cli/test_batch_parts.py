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
    """Answers with the numbers of its lines; a fault befalls the process that has the last of them."""

    def __init__(self, lines: int, fault: str | None = None, bad: frozenset[int] = frozenset()) -> None:
        self.lines = lines
        self.fault = fault
        self.bad = bad
        self.judged = False
        self.pid = os.getpid()

    def read(self, start: int, stop: int) -> tuple[range, list[Problem]]:
        if self.fault == "unreadable" and stop == self.lines:
            raise OSError("cannot be read")
        return range(start, stop), [(n, f"line {n} in {self.where()}") for n in range(start, stop) if n in self.bad]

    def verdicts(self, rows: range) -> Iterator[Verdict]:
        self.judged = True
        if rows.stop == self.lines and self.fault == "killed":
            os.kill(os.getpid(), signal.SIGKILL)
        if rows.stop == self.lines and self.fault == "full":
            raise OSError(28, "No space left on device")
        for row in rows:
            yield Verdict(verdict="supported" if row else "unknown", engine_accepts=None, untested=str(row))

    def where(self) -> str:
        return "the first process" if os.getpid() == self.pid else "another"


def even(lines: int, parts: int) -> list[Run]:
    return [Run(lines * part // parts, lines * (part + 1) // parts, part) for part in range(parts)]


def numbers(out: io.BytesIO) -> list[int]:
    return [int(msgspec.json.decode(line)["untested"]) for line in out.getvalue().splitlines()]


@pytest.mark.parametrize("parts", [1, 2, 5])
def test_answers_are_in_order_whatever_the_number_of_processes(parts: int) -> None:
    out = io.BytesIO()
    problems, seen = judge_in_parts(even(1003, parts), Job(1003), out)
    assert problems == []
    assert numbers(out) == list(range(1003))
    assert seen == {"unknown", "supported"}


def test_what_another_process_has_seen_is_told() -> None:
    """Only the second part has the line that is supported."""
    assert judge_in_parts([Run(0, 1, 0), Run(1, 2, 1)], Job(2), io.BytesIO()) == ([], {"unknown", "supported"})


@pytest.mark.parametrize("order", [[0, 1, 0, 1], [1, 0, 2, 0, 1, 2, 2], [2, 1, 0, 0]])
def test_runs_of_different_parts_are_put_together_in_the_order_of_their_lines(order: list[int]) -> None:
    runs = [Run(300 * at, 300 * (at + 1), part) for at, part in enumerate(order)]
    runs.append(Run(300 * len(order), 300 * len(order), 0))  # a run of no line harms nobody
    out = io.BytesIO()
    judge_in_parts(runs, Job(300 * len(order)), out)
    assert numbers(out) == list(range(300 * len(order)))


def test_problems_of_every_part_in_the_order_of_their_lines_and_no_answer() -> None:
    out = io.BytesIO()
    job = Job(40, bad=frozenset({3, 15, 16, 31}))
    problems, seen = judge_in_parts([Run(0, 10, 1), Run(10, 20, 0), Run(20, 30, 2), Run(30, 40, 1)], job, out)
    first, another = "in the first process", "in another"
    assert problems == [(3, f"line 3 {another}"), (15, f"line 15 {first}"), (16, f"line 16 {first}"), problems[3]]
    assert problems[3] == (31, f"line 31 {another}")
    assert (seen, out.getvalue(), job.judged) == (set(), b"", False)


def test_problems_of_another_process_alone_keep_this_one_from_judging() -> None:
    job, out = Job(20, bad=frozenset({19})), io.BytesIO()
    assert judge_in_parts(even(20, 2), job, out) == ([(19, "line 19 in another")], set())
    assert (out.getvalue(), job.judged) == (b"", False)


@pytest.mark.parametrize(
    ("fault", "said"), [("killed", "is gone"), ("full", "No space left on device"), ("unreadable", "cannot be read")]
)
def test_what_befalls_another_process_is_raised_here(fault: str, said: str) -> None:
    out = io.BytesIO()
    with pytest.raises(OSError, match=said):
        judge_in_parts(even(30, 3), Job(30, fault), out)
    assert out.getvalue() == b""


def test_small_batches_stay_in_one_process() -> None:
    assert processes(2 * LEAST - 1) == 1
    assert processes(100 * LEAST) <= len(os.sched_getaffinity(0))
