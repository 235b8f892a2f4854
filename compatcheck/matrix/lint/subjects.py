"""Subjects: rules of one subject are alternatives, and their version ranges tile the axis.

Proved with range algebra over PEP 440, from the oldest release that the matrix knows on that axis to infinity, with
every pre-release in between: no version matches two rules, and none matches no rule. Why: `<0.6.15` beside `>=0.6.15`
looks complete, and leaves out every nightly 0.6.15.dev…, which is what people run; `<=1.0` beside `>1.0` leaves out
1.0.post1.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import combinations

from packaging.ranges import VersionRange
from packaging.specifiers import SpecifierSet
from packaging.version import InvalidVersion, Version

from compatcheck.matrix.errors import Problem
from compatcheck.matrix.lint.context import Context
from compatcheck.matrix.lint.version_ranges import range_problem, version_range
from compatcheck.matrix.model import Library, Release, Rule
from compatcheck.matrix.yaml_reader import Path

CODE = "subject"
_PIN_OF_AXIS = {"flashinfer_version": "flashinfer", "torch_version": "torch", "cuda_version": "cuda"}
_EXAMPLES = 3


def check(context: Context) -> list[Problem]:
    """Return overlaps (both rules and a version that matches both) and gaps (versions that match none)."""
    subjects: dict[str, list[tuple[Path, Rule]]] = {}
    for path, rule in context.records(Rule):
        if rule.subject is not None:
            subjects.setdefault(rule.subject, []).append((path, rule))
    problems: list[Problem] = []
    for subject, rules in subjects.items():
        if len(rules) < _written(context, subject):
            continue  # one of them is ill-formed, and reported as such
        axes = {rule.axis for _, rule in rules}
        if len(axes) > 1:
            path, _ = rules[-1]
            message = f"subject {subject!r} has rules on {', '.join(sorted(axes))}; alternatives share one axis"
            problems.append(context.problem((*path, "axis"), CODE, message))
        elif not any(text and range_problem(text) for _, rule in rules for text in (rule.versions, rule.clear)):
            problems += _overlaps(context, subject, rules)
            problems += _gaps(context, subject, rules)
    return problems


def _written(context: Context, subject: str) -> int:
    entries = context.value.get("rules")
    rules = entries.values() if isinstance(entries, dict) else ()
    return sum(isinstance(rule, dict) and rule.get("subject") == subject for rule in rules)


def _overlaps(context: Context, subject: str, rules: list[tuple[Path, Rule]]) -> Iterator[Problem]:
    for (path, one), (other_path, other) in combinations(rules, 2):
        common = _covered(one) & _covered(other)
        if not common.is_empty:
            example = examples(common, _mentioned([one, other]), known_versions(context, one.axis))
            yield context.problem(
                (*other_path, "versions"),
                CODE,
                f"overlaps {path[-1]} of subject {subject!r}: {one.axis} {' and '.join(example[:1]) or str(common)}"
                f" matches both {one.versions or 'every version'!r} and {other.versions or 'every version'!r}",
            )


def _gaps(context: Context, subject: str, rules: list[tuple[Path, Rule]]) -> Iterator[Problem]:
    axis = rules[0][1].axis
    known = known_versions(context, axis)
    covered = VersionRange.empty(prereleases=True)
    for _, rule in rules:
        covered |= _covered(rule)
        if rule.clear:
            covered |= version_range(rule.clear)
    start = version_range(f">={known[0]}") if known else VersionRange.full(admit_arbitrary=False, prereleases=True)
    gap = start - covered
    if gap.is_empty:
        return
    example = examples(gap, _mentioned(rule for _, rule in rules), known)
    verb = "falls" if len(example) == 1 else "fall"
    yield context.problem(
        (*rules[-1][0], "versions"),
        CODE,
        f"the rules of subject {subject!r} leave a gap: {axis} {', '.join(example) or str(gap)} {verb} into none of"
        f" {', '.join(str(path[-1]) for path, _ in rules)}",
    )


def _covered(rule: Rule) -> VersionRange:
    if rule.versions:
        return version_range(rule.versions)
    return VersionRange.full(admit_arbitrary=False, prereleases=True)


def known_versions(context: Context, axis: str) -> list[Version]:
    """Return the releases that the matrix names on a version axis, oldest first."""
    texts: set[str] = set()
    if axis == "engine_version":
        texts.update(str(path[-1]) for path, _ in context.records(Release))
    else:
        field = _PIN_OF_AXIS[axis]
        texts.update(getattr(release, field) or "" for _, release in context.records(Release))
        for path, library in context.records(Library):
            if path[-1] == field:
                texts.update(library.releases)
    versions: set[Version] = set()
    for text in texts - {""}:
        try:
            versions.add(Version(text))
        except InvalidVersion:
            continue
    return sorted(versions)


def _mentioned(rules: Iterable[Rule]) -> list[Version]:
    versions = {
        Version(part.version.removesuffix(".*")) for rule in rules for part in SpecifierSet(rule.versions or "")
    }
    return sorted(versions)


def examples(within: VersionRange, mentioned: list[Version], known: list[Version]) -> list[str]:
    """Return versions that lie in a range: the first that a reader would recognise, one for each bound nearby."""
    found: list[str] = []
    older = [version for version in known if all(version < other for other in mentioned)]
    if older and _in(within, str(older[-1])):
        found.append(str(older[-1]))
    for version in mentioned:
        base = Version(version.base_version)
        after = Version.from_parts(epoch=base.epoch, release=(*base.release[:-1], base.release[-1] + 1))
        near = [f"{base}.dev1", f"{base}.dev0", f"{base}rc1", f"{version}", f"{version.public}.post1", f"{after}"]
        fitting = [text for text in near if _in(within, text)]
        if fitting and not set(fitting) & set(found):
            found.append(fitting[0])
    if not found:
        found = [str(version) for version in known if _in(within, str(version))][:1]
    return found[:_EXAMPLES]


def _in(within: VersionRange, text: str) -> bool:
    try:
        return within.contains(Version(text), prereleases=True)
    except InvalidVersion:
        return False
