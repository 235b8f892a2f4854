"""Empty: what needs at least one entry has one.

Why: without a release or a KV-cache dtype there is nothing to ask about, and every table would be empty.
"""

from __future__ import annotations

from compatcheck.matrix.errors import Problem
from compatcheck.matrix.lint.context import Context
from compatcheck.matrix.model import KvDtypeList
from compatcheck.matrix.yaml_reader import Path

CODE = "empty"


def check(context: Context) -> list[Problem]:
    """Return engines without a release or a KV-cache dtype, and the library whose releases they pin without one."""
    asked: list[Path] = []
    for engine in context.names("engines"):
        asked += [("engines", engine, "releases"), ("engines", engine, "kv_cache_dtypes")]
    asked += [(*path, "values") for path, _ in context.records(KvDtypeList)]
    asked += [("libraries", "flashinfer", "releases")] if asked else []
    return [
        context.problem(path, CODE, "is empty; it needs at least one entry") for path in asked if _empty(context, path)
    ]


def _empty(context: Context, path: Path) -> bool:
    """Return whether an entry is there and holds nothing."""
    try:
        value = context.raw(path)
    except (KeyError, TypeError):
        return False
    return value in ([], {})
