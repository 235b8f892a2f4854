"""Every backend's answers: those that are kept and still hold, the others asked on the cores there are.

What is asked in processes of their own is waited for only when a page needs it.
"""

from __future__ import annotations

import os
import sys
from contextlib import ExitStack
from typing import TYPE_CHECKING

import msgspec

from compatcheck.docs.asking import Asking
from compatcheck.docs.dependence import Dependence
from compatcheck.docs.kept import keep, recall
from compatcheck.docs.sheets import Answered

if TYPE_CHECKING:
    from concurrent.futures import Future

    from compatcheck.docs.space import Space

LEAST = 2
"""Backends to ask for which processes of their own are worth their start."""


class Entry(msgspec.Struct, array_like=True):
    """One backend's answers and the digest of what they were made from; the newest of each are kept."""

    digest: str
    answered: Answered


class Kept(msgspec.Struct, array_like=True):
    """The answers that are kept. `everything` is the digest of the whole matrix that they were made from."""

    everything: str
    entries: dict[str, Entry]


_space: Space | None = None
"""Set before the processes are forked, which is how they get it."""


class Answering:
    """A context in which the answers of every backend can be had; what was asked anew is kept when it is left."""

    def __init__(self, space: Space) -> None:
        self._space = space
        self._kept_as = f"answers-{space.engine_name}"
        self._digests: dict[str, str] = {}
        self._everything = ""
        self._answered: dict[str, Answered] = {}
        self._coming: dict[str, Future[bytes]] = {}
        self._fresh = False
        self._stack = ExitStack()

    def __enter__(self) -> Answering:
        space, depends = self._space, Dependence(self._space)
        present = {name for release in space.releases for name in space.backends(release)}
        names = [name for name in space.engine.backends if name in present]
        kept = recall(self._kept_as, Kept) or Kept("", {})
        self._everything = depends.everything()
        if kept.everything == self._everything and set(names) <= set(kept.entries):
            self._digests = {name: kept.entries[name].digest for name in names}
        else:
            self._digests = {name: depends.digest(name) for name in names}
            self._fresh = True
        for name, digest in self._digests.items():
            if name in kept.entries and kept.entries[name].digest == digest:
                self._answered[name] = kept.entries[name].answered
        unknown = [name for name in self._digests if name not in self._answered]
        if len(unknown) >= LEAST and cores() > 1:
            self._start(unknown)
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        asked = kind is None and len(self._answered) == len(self._digests)
        self._stack.close()
        if asked and self._fresh:
            entries = {name: Entry(digest, self._answered[name]) for name, digest in self._digests.items()}
            keep(self._kept_as, Kept(self._everything, entries))

    def of(self, backend: str) -> Answered:
        """Return a backend's answers."""
        known = self._answered.get(backend)
        if known is None:
            known = self._answered[backend] = self._come(backend) or Asking(self._space, backend).answered()
        return known

    def _come(self, backend: str) -> Answered | None:
        """Return what another process answered; None where none was asked, or the processes came to an end."""
        from concurrent.futures import BrokenExecutor

        coming = self._coming.pop(backend, None)
        try:
            return None if coming is None else msgspec.msgpack.decode(coming.result(), type=Answered)
        except BrokenExecutor:
            return None

    def _start(self, names: list[str]) -> None:
        """Ask in processes of their own, which part when everything is compiled."""
        import multiprocessing
        from concurrent.futures import ProcessPoolExecutor

        global _space
        for release in self._space.releases:
            self._space.resolver.rules(self._space.engine_name, release)
        sys.stdout.flush()
        sys.stderr.flush()
        _space = self._space
        try:
            pool = ProcessPoolExecutor(min(cores(), len(names)), mp_context=multiprocessing.get_context("fork"))
            self._stack.callback(pool.shutdown, cancel_futures=True)
            self._coming = {name: pool.submit(_ask, name) for name in names}
        except OSError:  # no more processes are allowed: all is asked here
            self._coming = {}
        finally:
            _space = None


def _ask(name: str) -> bytes:
    assert _space is not None
    return msgspec.msgpack.encode(Asking(_space, name).answered())


def cores() -> int:
    """Return how many processes may work at once: the cores that may be used, or one where forking is not safe."""
    if not hasattr(os, "sched_getaffinity"):  # Linux; elsewhere a forked process is not safe to go on with
        return 1
    return len(os.sched_getaffinity(0))
