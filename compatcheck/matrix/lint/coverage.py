"""Coverage: what every release needs is stated from the first release on.

Why: before the first `since` of a list the engine would accept no KV-cache dtype at all, or try no backend.
"""

from __future__ import annotations

from compatcheck.matrix.errors import Problem
from compatcheck.matrix.lint.context import Context
from compatcheck.matrix.lint.releases import version
from compatcheck.matrix.model import KvDtypeList, PriorityList
from compatcheck.matrix.yaml_reader import Path

CODE = "coverage"


def check(context: Context) -> list[Problem]:
    """Return lists that begin after the engine's first release."""
    problems: list[Problem] = []
    lists: tuple[tuple[str, type[KvDtypeList | PriorityList]], ...] = (
        ("kv_cache_dtypes", KvDtypeList),
        ("priorities", PriorityList),
    )
    for engine in context.names("engines"):
        releases = context.names("engines", engine, "releases")
        known = [parsed for parsed in map(version, releases) if parsed]
        if not known:
            continue
        for field, model in lists:
            at: Path = ("engines", engine, field)
            starts = [version(entry.since) for path, entry in context.records(model) if path[:3] == at]
            stated = [start for start in starts if start]
            if (not stated and field != "kv_cache_dtypes") or (stated and min(stated) > min(known)):
                first = f"begins with {min(stated)}" if stated else "is empty"
                problems.append(context.problem(at, CODE, f"{first}; the first release is {min(known)}"))
    return problems
