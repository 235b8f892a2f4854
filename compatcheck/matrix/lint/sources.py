"""Sources: every backend, kernel, refusal and rule says where it was seen, in a way that can be looked up again."""

from __future__ import annotations

import re

from compatcheck.matrix.errors import Problem
from compatcheck.matrix.lint.context import Context
from compatcheck.matrix.model import Backend, Kernel, Refusal, Rule, Source
from compatcheck.matrix.yaml_reader import Path

CODE = "source"
_URL = re.compile(r"https?://\S+")
_CODE = re.compile(r"[^\s:@]+(:[^@]+)?@[0-9]\S*")


def check(context: Context) -> list[Problem]:
    """Return entries without a source, and sources that name no version or thread."""
    bare = "no source: say where this was seen (file:symbol@version, or a URL)"
    problems = [context.problem(path, CODE, bare) for path in _without(context)]
    for path, source in context.records(Source):
        message = _unclear(source)
        if message:
            problems.append(context.problem((*path, "ref"), CODE, message))
    return problems


def _without(context: Context) -> list[Path]:
    bare: list[Path] = []
    sourced: set[Path] = set()
    for path, kernel in context.records(Kernel):
        if kernel.sources:
            sourced.add(path)
        else:
            bare.append(path)
    bare += [path for path, backend in context.records(Backend) if not backend.sources]
    bare += [(*path, "sources") for path, rule in context.records(Rule) if not rule.sources]
    bare += [path for path, r in context.records(Refusal) if not r.sources and path[:2] not in sourced]
    return bare


def _unclear(source: Source) -> str | None:
    ref = source.ref
    if source.kind == "thread" and not _URL.fullmatch(ref):
        return f"a thread is given by its URL, found {ref!r}"
    if source.kind == "docs" and not (_URL.fullmatch(ref) or _CODE.fullmatch(ref)):
        return f"a page is given by its URL or as file@version, found {ref!r}"
    if source.kind == "source" and not (_URL.fullmatch(ref) or _CODE.fullmatch(ref)):
        return f"expected file:symbol@version or a URL, found {ref!r}"
    return None if ref.strip() else "an empty reference"
