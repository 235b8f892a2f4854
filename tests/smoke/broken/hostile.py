"""Kernels that harm their process, or say of themselves what cannot be."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable

from compatcheck.smoke.cell import SmokeCell
from compatcheck.smoke.measure import Measured
from tests.smoke.broken.fine import Fake, right


class Hostile(Fake):
    """Does what it was given; right where that returns nothing."""

    def __init__(self, name: str, act: Callable[[], Measured | None]) -> None:
        self.name = name
        self.ids = (f"fake.{name.replace('-', '_')}",)
        self._act = act

    def behave(self, cell: SmokeCell) -> Measured:
        return self._act() or right()


class Beyond(BaseException):
    """Derives from nothing that a library raises."""


class SilentError(ValueError):
    def __str__(self) -> str:
        raise RuntimeError("no words")


def raising(make: Callable[[], BaseException]) -> Callable[[], None]:
    def act() -> None:
        raise make()

    return act


def dying_with_a_child() -> None:
    """The child holds the pipe open, as a library's pool of helpers does."""
    if os.fork() == 0:
        time.sleep(20)
        os._exit(0)
    os._exit(3)


def forking() -> None:
    """Both copies return, and go on as workers."""
    os.fork()


def stopping() -> None:
    os.kill(os.getpid(), signal.SIGSTOP)


def closing_its_pipes() -> None:
    for descriptor in range(3, 64):
        try:
            os.close(descriptor)
        except OSError:
            continue
    time.sleep(60)


def without_descriptors() -> None:
    held = []
    while True:
        held.append(os.open(os.devnull, os.O_RDONLY))


def recursing() -> None:
    recursing()


def claiming(errors: dict[str, float], outcome: str = "correct") -> Callable[[], Measured]:
    def act() -> Measured:
        done = right()
        done.errors, done.outcome = errors, outcome
        return done

    return act


HOSTILE = [
    Hostile("dying-with-a-child", dying_with_a_child),
    Hostile("forking", forking),
    Hostile("stopping", stopping),
    Hostile("closing-its-pipes", closing_its_pipes),
    Hostile("without-descriptors", without_descriptors),
    Hostile("recursing", recursing),
    Hostile("beyond", raising(lambda: Beyond("gone"))),
    Hostile("interrupted", raising(KeyboardInterrupt)),
    Hostile("silent", raising(SilentError)),
    Hostile("half-characters", raising(lambda: ValueError("head 7 is not for us: \udcff"))),
    Hostile("megabytes", raising(lambda: ValueError("head 7 is not for us: " + "a-" * 10_000_000))),
    Hostile("too-far-off", claiming({"out": 5.0})),
    Hostile("not-a-number", claiming({"out": float("nan")})),
    Hostile("uncompared", claiming({})),
    Hostile("unheard-of", claiming({"out": 0.0}, "splendid")),
]
