"""Parts of a batch in processes of their own: answers in order, problems of all, faults told where they are seen."""

from __future__ import annotations

import io
import os
import signal
from typing import BinaryIO

import pytest

from compatcheck.cli.batch_parts import LEAST, judge_in_parts, processes
from compatcheck.resolve.verdict import VerdictName


class Job:
    """Writes the numbers of its lines; a fault befalls the last part, in one of several ways."""

    def __init__(self, lines: int, fault: str | None = None) -> None:
        self.lines = lines
        self.fault = fault

    def read(self, start: int, stop: int) -> tuple[range, list[str]]:
        if self.fault == "bad":
            return range(0), [f"line {start}"]
        if self.fault == "unreadable" and stop == self.lines:
            raise OSError("cannot be read")
        return range(start, stop), []

    def write(self, rows: range, out: BinaryIO) -> set[VerdictName]:
        if rows.stop == self.lines and self.fault == "killed":
            os.kill(os.getpid(), signal.SIGKILL)
        if rows.stop == self.lines and self.fault == "full":
            raise OSError(28, "No space left on device")
        out.write(b"".join(b"%d\n" % row for row in rows))
        return {"supported"} if rows.start else {"unknown"}


@pytest.mark.parametrize("parts", [1, 2, 5])
def test_answers_are_in_order_whatever_the_number_of_processes(parts: int) -> None:
    out = io.BytesIO()
    problems, seen = judge_in_parts(1003, parts, Job(1003), out)
    assert (problems, out.getvalue()) == ([], b"".join(b"%d\n" % n for n in range(1003)))
    assert seen == ({"unknown"} if parts == 1 else {"supported", "unknown"})


def test_problems_of_every_part_and_no_answer() -> None:
    out = io.BytesIO()
    assert judge_in_parts(30, 3, Job(30, "bad"), out) == (["line 0", "line 10", "line 20"], set())
    assert out.getvalue() == b""


@pytest.mark.parametrize(
    ("fault", "said"), [("killed", "is gone"), ("full", "No space left on device"), ("unreadable", "cannot be read")]
)
def test_what_befalls_another_process_is_raised_here(fault: str, said: str) -> None:
    with pytest.raises(OSError, match=said):
        judge_in_parts(30, 3, Job(30, fault), io.BytesIO())


def test_small_batches_stay_in_one_process() -> None:
    assert processes(2 * LEAST - 1) == 1
    assert processes(100 * LEAST) <= len(os.sched_getaffinity(0))
