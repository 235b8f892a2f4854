"""Negative facts: what is said not to work for every later version says when to look again.

Why: most of these are bugs, and bugs get fixed. A rule whose range has an upper end says so itself; the others carry
`recheck`. A warning, since some refusals (hardware) have nothing to wait for: those say `recheck: never` and why.
"""

from __future__ import annotations

from compatcheck.matrix.errors import Problem
from compatcheck.matrix.lint.context import Context
from compatcheck.matrix.lint.version_ranges import range_problem, version_range
from compatcheck.matrix.model import Rule

CODE = "recheck"
_FAR = "99999"


def check(context: Context) -> list[Problem]:
    """Return rules against something, open towards newer versions, that do not say when to recheck."""
    return [
        context.problem(
            path, CODE, f"{rule.effect} for every later version, and no `recheck`: when could it end?", "warning"
        )
        for path, rule in context.records(Rule)
        if rule.effect != "note" and rule.recheck is None and _open(rule.versions)
    ]


def _open(versions: str | None) -> bool:
    return not versions or (range_problem(versions) is None and _FAR in version_range(versions))
