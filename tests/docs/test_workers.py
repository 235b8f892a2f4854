"""Tasks of other processes: their results come, and what they cannot do is left to whoever waits."""

from __future__ import annotations

import os
import time
from collections.abc import Callable

import pytest

from compatcheck.docs import workers
from compatcheck.docs.workers import Workers

pytestmark = pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="only Linux forks")


@pytest.fixture(autouse=True)
def two_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "cores", lambda: 2)


def add(known: str, name: str) -> bytes:
    return f"{known} {name} {os.getpid()}".encode()


def wait(known: str, name: str) -> bytes:
    time.sleep(0.2)
    return add(known, name)


def end(known: str, name: str) -> bytes:
    os._exit(9)


def fail(known: str, name: str) -> bytes:
    raise LookupError(f"{known} {name}")


def test_tasks_of_two_contexts_know_what_is_theirs() -> None:
    with Workers("outer") as outer, Workers("inner") as inner:
        coming = [one.submit(add, name) for name in "ab" for one in (outer, inner)]
        said = [Workers.result(one) for one in coming]
    told = [one.decode().split() for one in said if one is not None]
    assert [one[:2] for one in told] == [[known, name] for name in "ab" for known in ("outer", "inner")]
    assert str(os.getpid()) not in {one[2] for one in told}


def test_what_is_not_begun_is_left_to_whoever_waits() -> None:
    with Workers("known") as some:
        coming = [some.submit(wait, str(number)) for number in range(12)]
        said = [Workers.result(one) for one in reversed(coming)]
    assert said[0] is None  # 12 tasks of a fifth of a second: the last is not begun
    assert said[-1] is not None


@pytest.mark.parametrize(("task", "raised"), [(end, None), (fail, LookupError)])
def test_a_process_that_ends_is_done_without_and_an_error_is_raised_here(
    task: Callable[[str, str], bytes], raised: type[Exception] | None
) -> None:
    with Workers("known") as some:
        coming = some.submit(task, "name")
        if raised is None:
            assert Workers.result(coming) is None
        else:
            while coming is not None and not coming.running() and not coming.done():
                time.sleep(0.01)  # what is not begun would be left to us
            with pytest.raises(raised, match="known name"):
                Workers.result(coming)


def test_one_core_takes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "cores", lambda: 1)
    with Workers("known") as some:
        assert some.submit(add, "name") is None
    assert Workers.result(None) is None
