"""Tasks of other processes: their results come, and what they cannot do is left to whoever waits."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator

import pytest

from compatcheck.docs import workers
from compatcheck.docs.workers import Workers
from tests.processes import children

pytestmark = pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="only Linux forks")
HERE = os.getpid()


@pytest.fixture(autouse=True)
def two_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "cores", lambda: 2)


@pytest.fixture(autouse=True)
def nothing_is_left() -> Iterator[None]:
    """No process and no open pipe is left behind by any of this."""
    pipes, processes = len(os.listdir("/proc/self/fd")), children()
    yield
    assert len(os.listdir("/proc/self/fd")) == pipes
    assert children() == processes


def add(known: str, name: str) -> bytes:
    return f"{known} {name} {os.getpid()}".encode()


def large(known: str, name: str) -> bytes:
    time.sleep(0.02)
    return name.encode() * 1_000_000


def end(known: str, name: str) -> bytes:
    if os.getpid() != HERE:
        os.kill(os.getpid(), signal.SIGKILL)
    return b"here"


def fail(known: str, name: str) -> bytes:
    raise LookupError(f"{known} {name}")


def long(known: str, name: str) -> bytes:
    if os.getpid() != HERE:
        time.sleep(60)
    return b"here"


def test_they_are_busy_until_everything_is_done() -> None:
    with Workers("known") as pool:
        assert not pool.busy
        number = pool.add(large, "x")
        assert not pool.busy
        pool.begin()
        assert pool.busy
        assert pool.result(number) == b"x" * 1_000_000
        until = time.monotonic() + 10
        while pool.busy and time.monotonic() < until:
            time.sleep(0.001)
        assert not pool.busy


def test_results_come_whatever_the_order_and_whoever_did_them() -> None:
    with Workers("outer") as outer:
        numbers = [outer.add(add, str(name)) for name in range(40)]
        outer.begin()
        time.sleep(0.5)  # enough for others to take some
        with Workers("inner") as inner:
            more = [inner.add(add, str(name)) for name in range(3)]
            inner.begin()
            found = [outer.result(number) for number in reversed(numbers)][::-1]
            other = [inner.result(number) for number in more]
    said = [one.decode().split() for one in (*found, *other) if one is not None]
    assert [one[:2] for one in said] == [["outer", str(n)] for n in range(40)] + [["inner", str(n)] for n in range(3)]
    assert {int(one[2]) for one in said} - {HERE}


def test_what_is_larger_than_a_pipe_comes_whole_and_keeps_nobody_waiting() -> None:
    with Workers("known") as some:
        numbers = [some.add(large, name) for name in "abcdef"]
        some.begin()
        time.sleep(0.5)  # nobody reads yet
        assert [some.result(number) for number in numbers] == [name.encode() * 1_000_000 for name in "abcdef"]


@pytest.mark.parametrize("task", [end, fail])
def test_what_fails_or_is_killed_is_left_to_whoever_waits(task: Callable[[str, str], bytes]) -> None:
    with Workers("known") as some:
        numbers = [some.add(task, str(name)) for name in range(10)]
        some.begin()
        time.sleep(0.3)
        said = [some.result(number) for number in reversed(numbers)]
    assert set(said) <= {None, b"here"}
    assert None in said


def test_leaving_waits_for_nobody() -> None:
    began = time.monotonic()
    with Workers("known") as some:
        for name in range(4):
            some.add(long, str(name))
        some.begin()
    assert time.monotonic() - began < 10


@pytest.mark.parametrize("allowed", [0, 1])
def test_fewer_processes_than_wanted(allowed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    fork, forked = os.fork, list[int]()

    def limited() -> int:
        if len(forked) == allowed:
            raise BlockingIOError
        forked.append(1)
        return fork()

    monkeypatch.setattr(os, "fork", limited)
    with Workers("known") as some:
        numbers = [some.add(add, str(name)) for name in range(5)]
        some.begin()
        said = [some.result(number) for number in numbers]
    assert [one and one.decode().split()[1] for one in said] == ["0", "1", "2", "3", "4"]


def test_one_core_or_other_threads_take_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    ended = threading.Event()
    thread = threading.Thread(target=ended.wait)
    thread.start()
    with Workers("known") as some:
        assert some.add(add, "name") is None
    ended.set()
    thread.join()
    monkeypatch.setattr(workers, "cores", lambda: 1)
    with Workers("known") as some:
        assert some.add(add, "name") is None
        some.begin()
        assert some.result(None) is None
