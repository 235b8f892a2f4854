"""Work aside: its result comes, and whatever becomes of it, the process that began it goes on."""

from __future__ import annotations

import os
import signal
import threading
import time

import pytest

from compatcheck import aside
from compatcheck.aside import Aside
from tests.processes import children

pytestmark = pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="only Linux forks")


@pytest.fixture(autouse=True)
def two_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(aside, "cores", lambda: 2)


@pytest.mark.parametrize("said", [b"", b"\0", b"x" * 3_000_000])
def test_the_result_comes_whole(said: bytes) -> None:
    begun = Aside.begin(lambda: said)
    assert begun is not None
    assert begun.result() == said


def fails() -> bytes:
    raise ValueError("no")


def is_killed() -> bytes:
    os.kill(os.getpid(), signal.SIGKILL)
    return b"never"


@pytest.mark.parametrize("work", [fails, is_killed])
def test_work_that_fails_has_no_result(work: object, capfd: pytest.CaptureFixture[str]) -> None:
    begun = Aside.begin(work)  # type: ignore[arg-type]
    assert begun is not None
    assert begun.result() is None
    assert capfd.readouterr() == ("", "")


def test_work_that_is_stopped_is_gone() -> None:
    def long() -> bytes:
        time.sleep(60)
        return b""

    began, before = time.monotonic(), children()
    begun = Aside.begin(long)
    assert begun is not None
    begun.stop()
    begun.stop()
    assert time.monotonic() - began < 10
    assert children() == before


def test_what_is_not_written_yet_is_written_once(capfd: pytest.CaptureFixture[str]) -> None:
    with os.fdopen(os.dup(1), "w") as out, pytest.MonkeyPatch.context() as patch:
        patch.setattr("sys.stdout", out)
        out.write("once\n")
        begun = Aside.begin(lambda: b"")
        assert begun is not None
        assert begun.result() == b""
    assert capfd.readouterr().out == "once\n"


def test_one_core_does_it_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(aside, "cores", lambda: 1)
    assert Aside.begin(lambda: b"") is None


def test_beside_other_threads_it_is_done_here() -> None:
    ended = threading.Event()
    thread = threading.Thread(target=ended.wait)
    thread.start()
    try:
        assert Aside.begin(lambda: b"") is None
    finally:
        ended.set()
        thread.join()


def test_without_more_processes_it_is_done_here(monkeypatch: pytest.MonkeyPatch) -> None:
    def none_left() -> int:
        raise BlockingIOError

    monkeypatch.setattr(os, "fork", none_left)
    before = len(os.listdir("/proc/self/fd"))
    assert Aside.begin(lambda: b"") is None
    assert len(os.listdir("/proc/self/fd")) == before
