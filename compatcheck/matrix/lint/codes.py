"""Codes: one code says one thing, so that `explain CODE` and a suppression mean what they meant when written."""

from __future__ import annotations

from compatcheck.matrix.errors import Problem
from compatcheck.matrix.lint.context import Context
from compatcheck.matrix.lint.releases import version
from compatcheck.matrix.lint.version_ranges import range_problem, version_range
from compatcheck.matrix.model import JointRule, Refusal, SelectorCheck
from compatcheck.matrix.yaml_reader import Path

CODE = "code"
RESERVED = frozenset(
    {
        "backend-not-in-release",
        "backend-unimportable",
        "kernel-not-in-library",
        "kv-cache-dtype-not-in-release",
        "linear-backend-not-for-layer",
        "linear-backend-not-in-release",
        "linear-backend-overridden",
        "linear-gemm-env-not-in-release",
        "no-linear-kernel",
        "no-valid-backend",
        "selector-not-asked",
        "unknown",
    }
)
"""Codes of findings that the resolver makes itself."""


def check(context: Context) -> list[Problem]:
    """Return codes used twice where they must differ, and codes that compatcheck itself uses."""
    problems: list[Problem] = []
    coded: list[tuple[Path, str]] = []
    seen: dict[tuple[Path, str], list[JointRule | SelectorCheck]] = {}
    rules = set(context.names("rules"))
    lines: list[tuple[Path, JointRule | SelectorCheck]] = [*context.records(JointRule), *context.records(SelectorCheck)]
    for path, line in lines:
        here = (*path, "code")
        coded.append((here, line.code))
        earlier = seen.setdefault((path[:-1], line.code), [])
        if any(_same_release(line, other) for other in earlier):
            problems.append(context.problem(here, CODE, f"{line.code} is already used in this list"))
        earlier.append(line)
        if line.code in rules:
            problems.append(context.problem(here, CODE, f"{line.code} is also the code of an entry of rules"))
    coded += [((*path, "code"), refusal.code) for path, refusal in context.records(Refusal)]
    coded += [(("rules", name), name) for name in rules]
    problems += [
        context.problem(path, CODE, f"{code} is a code that compatcheck gives itself; choose another")
        for path, code in coded
        if code in RESERVED
    ]
    return problems + _refusals(context)


def _same_release(one: JointRule | SelectorCheck, other: JointRule | SelectorCheck) -> bool:
    """Return whether a release could have both lines, and they say the same thing."""
    if isinstance(one, JointRule) and isinstance(other, JointRule) and one.when != other.when:
        return False
    return not (_ends_before(one, other) or _ends_before(other, one))


def _ends_before(one: JointRule | SelectorCheck, other: JointRule | SelectorCheck) -> bool:
    until = version(one.until) if one.until else None
    since = version(other.since) if other.since else None
    return until is not None and since is not None and until <= since


def _refusals(context: Context) -> list[Problem]:
    """A kernel may refuse under one code in several ranges or conditions, but not twice in the same."""
    problems: list[Problem] = []
    seen: dict[tuple[Path, str], list[Refusal]] = {}
    for path, refusal in context.records(Refusal):
        earlier = seen.setdefault((path[:-1], refusal.code), [])
        if any(other.when == refusal.when and _overlap(other.versions, refusal.versions) for other in earlier):
            message = f"{refusal.code} is already stated for this condition and overlapping versions"
            problems.append(context.problem((*path, "code"), CODE, message))
        earlier.append(refusal)
    return problems


def _overlap(one: str | None, other: str | None) -> bool:
    if not one or not other:
        return True
    if range_problem(one) or range_problem(other):
        return False
    return not version_range(one).is_disjoint(version_range(other))
