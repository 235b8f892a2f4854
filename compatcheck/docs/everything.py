"""Every backend's answers: those that are kept and still hold, the others asked for on the cores there are."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import msgspec

from compatcheck.docs.asking import Asking
from compatcheck.docs.dependence import Dependence
from compatcheck.docs.kept import keep, recall
from compatcheck.docs.sheets import Answered

if TYPE_CHECKING:
    from compatcheck.docs.space import Space


class Entry(msgspec.Struct, array_like=True):
    """One backend's answers and the digest of what they were made from; the newest of each are kept."""

    digest: str
    answered: Answered


LEAST = 4
"""Backends for which a process of its own is worth its start; below twice that, all is done in this one."""

_space: Space | None = None
"""Set before the processes are forked, which is how they get it."""


def answers_of_all(space: Space) -> dict[str, Answered]:
    """Return the answers of every backend of the engine's releases; what is asked anew is kept for the next time."""
    depends = Dependence(space)
    present = {name for release in space.releases for name in space.backends(release)}
    digests = {name: depends.digest(name) for name in space.engine.backends if name in present}
    kept_as = f"answers-{space.engine_name}"
    known = recall(kept_as, dict[str, Entry]) or {}
    held = {n: known[n].answered for n, digest in digests.items() if n in known and known[n].digest == digest}
    unknown = [name for name in digests if name not in held]
    if unknown:
        held |= _ask(space, unknown)
        keep(kept_as, {name: Entry(digest, held[name]) for name, digest in digests.items()})
    return held


def _ask(space: Space, names: list[str]) -> dict[str, Answered]:
    count = processes(len(names))
    if count == 1:
        return {name: Asking(space, name).answered() for name in names}
    import multiprocessing
    from concurrent.futures import ProcessPoolExecutor

    global _space
    for release in space.releases:  # compiled once, before the processes part
        _ = space.view(release).rules
    sys.stdout.flush()
    sys.stderr.flush()
    _space = space
    try:
        with ProcessPoolExecutor(count, mp_context=multiprocessing.get_context("fork")) as pool:
            found = pool.map(_in_a_process, names)
            return {name: msgspec.msgpack.decode(data, type=Answered) for name, data in zip(names, found, strict=True)}
    finally:
        _space = None


def _in_a_process(name: str) -> bytes:
    assert _space is not None
    return msgspec.msgpack.encode(Asking(_space, name).answered())


def processes(backends: int) -> int:
    """Return how many processes so many backends are spread over: at most one for each core that may be used."""
    if not hasattr(os, "sched_getaffinity"):  # Linux; elsewhere a forked process is not safe to go on with
        return 1
    return max(1, min(len(os.sched_getaffinity(0)), backends // LEAST))
