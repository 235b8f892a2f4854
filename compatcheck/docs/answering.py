"""Every backend's answers: those that are kept and still hold, the others asked on the cores there are.

What is asked in processes of their own is waited for only when a page needs it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from compatcheck.docs.asking import Asking
from compatcheck.docs.dependence import Dependence
from compatcheck.docs.kept import keep, recall
from compatcheck.docs.sheets import Answered

if TYPE_CHECKING:
    from compatcheck.docs.space import Space
    from compatcheck.docs.workers import Workers

_decoder = msgspec.msgpack.Decoder(Answered)
MANY = 8
"""Backends to ask for which it is worth to read ahead what they share."""


class Entry(msgspec.Struct, array_like=True):
    """One backend's answers and the digest of what they were made from; the newest of each are kept."""

    digest: str
    answered: Answered


class Kept(msgspec.Struct, array_like=True):
    """The answers that are kept. `everything` is the digest of the whole matrix that they were made from."""

    everything: str
    entries: dict[str, Entry]


class Answering:
    """A context in which the answers of every backend can be had; what was asked anew is kept when it is left."""

    def __init__(self, space: Space, workers: Workers[Space]) -> None:
        self._space = space
        self._workers = workers
        self._kept_as = f"answers-{space.engine_name}"
        self._digests: dict[str, str] = {}
        self._everything = ""
        self._answered: dict[str, Answered] = {}
        self._coming: dict[str, int | None] = {}
        self._names: list[str] = []
        self._fresh = False
        self._kept = Kept("", {})

    def __enter__(self) -> Answering:
        space = self._space
        present = {name for release in space.releases for name in space.backends(release)}
        self._names = [name for name in space.engine.backends if name in present]
        self._kept = recall(self._kept_as, Kept) or Kept("", {})
        if self._kept.entries:
            self._look_up()
        self._begin([name for name in self._names if name not in self._answered])
        return self

    def _look_up(self) -> None:
        """Find out which kept answers still hold."""
        depends, kept = Dependence(self._space), self._kept
        self._everything = depends.everything()
        if kept.everything == self._everything and set(self._names) <= set(kept.entries):
            self._digests = {name: kept.entries[name].digest for name in self._names}
        else:
            self._digests = {name: depends.digest(name) for name in self._names}
            self._fresh = True
        for name, digest in self._digests.items():
            if name in kept.entries and kept.entries[name].digest == digest:
                self._answered[name] = kept.entries[name].answered

    def _begin(self, names: list[str]) -> None:
        space = self._space
        if names and self._workers.several:
            for release in space.releases:  # compiled once, for all processes
                space.resolver.rules(space.engine_name, release)
                if len(names) >= MANY:
                    space.asker.read(release)
            self._coming = {name: self._workers.add(_ask, name) for name in names}

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None and self._fresh and len(self._answered) == len(self._digests):
            entries = {name: Entry(digest, self._answered[name]) for name, digest in self._digests.items()}
            keep(self._kept_as, Kept(self._everything, entries))

    def of(self, backend: str) -> Answered:
        """Return a backend's answers."""
        if not self._digests:  # nothing is kept; others are asking now, so there is time for it
            self._look_up()
        known = self._answered.get(backend)
        if known is None:
            came = self._workers.result(self._coming.pop(backend, None))
            known = Asking(self._space, backend).answered() if came is None else _decoder.decode(came)
            self._answered[backend] = known
        return known


def _ask(space: Space, name: str) -> bytes:
    return msgspec.msgpack.encode(Asking(space, name).answered())
