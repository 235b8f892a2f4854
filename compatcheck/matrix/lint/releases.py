"""Releases: all versions parse, lists run from old to new, `since` and `until` name releases that the engine has.

Why: `changes` are applied in the order they are written, an unlisted release is one that nobody can ask about, and
an entry whose `until` is not after its `since` is never there.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence

from packaging.version import InvalidVersion, Version

from compatcheck.matrix.errors import Problem
from compatcheck.matrix.linear_model import LinearEnvValues, LinearOption, LinearWords
from compatcheck.matrix.lint.context import Context
from compatcheck.matrix.model import (
    Backend,
    BackendChange,
    FactCase,
    FactList,
    JointRule,
    Kernel,
    KvDtypeList,
    Library,
    ModelTypes,
    PriorityCase,
    PriorityList,
    Release,
    SelectorCheck,
)
from compatcheck.matrix.yaml_reader import Path

CODE = "release"
Dated = BackendChange | FactList | KvDtypeList | PriorityList
_HISTORIES: tuple[type[Dated], ...] = (BackendChange, FactList, KvDtypeList, PriorityList)
Limited = (
    FactCase | JointRule | LinearEnvValues | LinearOption | LinearWords | ModelTypes | PriorityCase | SelectorCheck
)
_LIMITED: tuple[type[Limited], ...] = (
    FactCase,
    JointRule,
    LinearEnvValues,
    LinearOption,
    LinearWords,
    ModelTypes,
    PriorityCase,
    SelectorCheck,
)


def check(context: Context) -> list[Problem]:
    """Return versions that do not parse, lists out of order, and entries of releases that are not listed."""
    problems = [*_engine_releases(context), *_libraries(context), *_lifetimes(context), *_histories(context)]
    return [context.problem(path, CODE, message) for path, message in problems]


def version(text: str) -> Version | None:
    """Return a version, or None where the text is not PEP 440."""
    try:
        return Version(text)
    except InvalidVersion:
        return None


def _engine_releases(context: Context) -> Iterator[tuple[Path, str]]:
    for engine in context.names("engines"):
        at: Path = ("engines", engine, "releases")
        names = context.names("engines", engine, "releases")
        if not names and "releases" in context.names("engines", engine):
            yield at, "an engine has at least one release"
        yield from _ascending([((*at, name), name) for name in names])
    for path, release in context.records(Release):
        for field in ("flashinfer", "torch", "cuda"):
            text = getattr(release, field)
            if text is not None and version(text) is None:
                yield (*path, field), f"{text!r} is not a PEP 440 version"


def _libraries(context: Context) -> Iterator[tuple[Path, str]]:
    for path, library in context.records(Library):
        yield from _ascending([((*path, "releases", i), text) for i, text in enumerate(library.releases)])


def _ascending(items: Sequence[tuple[Path, str]]) -> Iterator[tuple[Path, str]]:
    """Yield what does not parse, and what is not newer than the entry before it."""
    before: tuple[Version, str] | None = None
    for path, text in items:
        parsed = version(text)
        if parsed is None:
            yield path, f"{text!r} is not a PEP 440 version"
            continue
        if before is not None and parsed == before[0]:
            yield path, f"{text} is listed twice"
        elif before is not None and parsed < before[0]:
            yield path, f"{text} comes after {before[1]}; list the oldest first"
        before = (parsed, text)


def _lifetimes(context: Context) -> Iterator[tuple[Path, str]]:
    for path, backend in context.records(Backend):
        yield from _known(context, (*path, "since"), backend.since)
        yield from _until(context, path, backend.since, backend.until)
        for index, change in enumerate(backend.changes):
            at, since = version(change.since), version(backend.since)
            until = version(backend.until) if backend.until else None
            if at and since and at <= since:
                message = f"the backend is there since {backend.since}; a change comes later, found {change.since}"
                yield (*path, "changes", index, "since"), message
            elif at and until and at >= until:
                message = f"the backend is gone in {backend.until}; a change comes before, found {change.since}"
                yield (*path, "changes", index, "since"), message
    for model in _LIMITED:
        for path, line in context.records(model):
            if line.since is not None:
                yield from _known(context, (*path, "since"), line.since)
            yield from _until(context, path, line.since, line.until)
    for path, kernel in context.records(Kernel):
        for field in ("since", "until"):
            text = getattr(kernel, field)
            if text is not None:
                yield from _of_library(context, (*path, field), text, kernel.library)
        yield from _ordered(path, kernel.since, kernel.until)


def _until(context: Context, path: Path, since: str | None, until: str | None) -> Iterator[tuple[Path, str]]:
    if until is not None:
        yield from _known(context, (*path, "until"), until)
    yield from _ordered(path, since, until)


def _ordered(path: Path, since: str | None, until: str | None) -> Iterator[tuple[Path, str]]:
    first = version(since) if since else None
    last = version(until) if until else None
    if first and last and last <= first:
        yield (*path, "until"), f"`until` is the first release without it and comes after since {since}, found {until}"


def _known(context: Context, path: Path, text: str) -> Iterator[tuple[Path, str]]:
    """Yield a problem unless the text is a release of the engine that the path is inside of."""
    engine = str(path[1])
    releases = context.names("engines", engine, "releases")
    if text in releases:
        return
    if version(text) is None:
        yield path, f"{text!r} is not a PEP 440 version"
        return
    near = difflib.get_close_matches(text, releases, n=1)
    hint = f"; did you mean {near[0]}?" if near else ""
    yield path, f"{text} is not among the releases of engines.{engine}{hint}"


def _of_library(context: Context, path: Path, text: str, library: str) -> Iterator[tuple[Path, str]]:
    at = version(text)
    if at is None:
        yield path, f"{text!r} is not a PEP 440 version"
        return
    releases = [v for p, lib in context.records(Library) if p[-1] == library for v in map(version, lib.releases) if v]
    if not releases or at.is_prerelease or at in releases or not min(releases) <= at:
        return
    yield path, f"{text} is not among the releases of libraries.{library}"


def _histories(context: Context) -> Iterator[tuple[Path, str]]:
    """Yield what is wrong with lists of `since` entries, each list by itself and each file by itself."""
    lists: dict[tuple[Path, str], list[tuple[Path, str]]] = {}
    for model in _HISTORIES:
        for path, entry in context.records(model):
            at = (*path, "since")
            yield from _known(context, at, entry.since)
            lists.setdefault((path[:-1], context.file_of(path)), []).append((at, entry.since))
    for items in lists.values():
        yield from _ascending([(path, text) for path, text in items if version(text)])
