"""Decision lists: in every release the last case holds always, and no case stands behind one that does.

Why: a list that runs out gives no value, which then equals nothing; where that is meant, the last case says so with
`{value: null}`. A case behind an unconditional one is never reached, in no release that has both.
"""

from __future__ import annotations

from collections.abc import Sequence

from packaging.version import Version

from compatcheck.matrix.errors import Problem
from compatcheck.matrix.lint.context import Context
from compatcheck.matrix.lint.releases import version
from compatcheck.matrix.model import FactCase, FactList, PriorityCase, PriorityList, RouteCase
from compatcheck.matrix.yaml_reader import Path

CODE = "decision-list"
_LAST = "write a last case without `when`"
Case = FactCase | PriorityCase


def check(context: Context) -> list[Problem]:
    """Return lists that run out in a release, and cases that are never reached."""
    problems: list[Problem] = []
    listed: tuple[tuple[type[FactList | PriorityList], str], ...] = (
        (FactList, f"{_LAST}, {{value: null}} for none"),
        (PriorityList, _LAST),
    )
    for model, what_to_do in listed:
        for path, entry in context.records(model):
            cases: Sequence[Case] = entry.cases
            problems += _judge(context, (*path, "cases"), cases, _releases(context, path, model), what_to_do)
    for engine in context.names("engines"):
        at: Path = ("engines", engine, "routing")
        routing = [case for path, case in context.records(RouteCase) if path[:3] == at]
        for index, case in enumerate(routing):
            if any(not other.when or other.when == case.when for other in routing[:index]):
                message = "never reached: an earlier case has the same condition, or holds always"
                problems.append(context.problem((*at, index), CODE, message))
    return problems


def _releases(context: Context, path: Path, model: type[FactList | PriorityList]) -> list[Version]:
    """Return the releases that a list decides for: from its `since` on, until a later list of the same name begins."""
    starts = {p: version(entry.since) for p, entry in context.records(model) if p[:-1] == path[:-1]}
    own = starts[path]
    later = [start for p, start in starts.items() if p != path and start and own and start > own]
    known = (version(name) for name in context.names("engines", str(path[1]), "releases"))
    return [r for r in known if r and own and own <= r and not any(start <= r for start in later)]


def _judge(
    context: Context, path: Path, cases: Sequence[Case], releases: list[Version], what_to_do: str
) -> list[Problem]:
    if not cases:
        return [context.problem(path, CODE, f"no case at all; {what_to_do}")]
    if not releases:
        return []
    lives = [[_lives(case, release) for release in releases] for case in cases]
    problems: list[Problem] = []
    for index in range(len(cases)):
        ended = [_ended_before(cases, lives, index, at) for at in range(len(releases)) if lives[index][at]]
        if ended and all(ended):
            reason = "an earlier case holds always" if "always" in ended else "an earlier case has the same condition"
            problems.append(context.problem((*path, index), CODE, f"never reached: {reason}"))
        elif not ended:
            problems.append(context.problem((*path, index), CODE, "never reached: no release of this list has it"))
    for at, release in enumerate(releases):
        present = [index for index in range(len(cases)) if lives[index][at]]
        if not any(not cases[index].when for index in present):
            message = f"in {release} nothing is decided where no case holds; {what_to_do}"
            where = (*path, present[-1]) if present else path
            problems.append(context.problem(where, CODE, message))
            break
    return problems


def _lives(case: Case, release: Version) -> bool:
    since = version(case.since) if case.since else None
    until = version(case.until) if case.until else None
    return (since is None or since <= release) and (until is None or release < until)


def _ended_before(cases: Sequence[Case], lives: list[list[bool]], index: int, at: int) -> str:
    """Return how an earlier case of a release makes this one unreachable, or an empty text."""
    for earlier in range(index):
        if lives[earlier][at]:
            if not cases[earlier].when:
                return "always"
            if cases[earlier].when == cases[index].when:
                return "same"
    return ""
