"""Version ranges: each parses as PEP 440, matches something, and does not ask for a local part.

A range between the releases of its axis that takes in none of them, nor a nightly before one, is a warning.

Why: versions are compared without their local part (`+cu130`), so a range that names one never matches what was meant;
`===` compares text and takes no part in the proof that rules tile.
"""

from __future__ import annotations

from functools import lru_cache

from packaging.ranges import VersionRange
from packaging.specifiers import InvalidSpecifier, SpecifierSet

from compatcheck.matrix.errors import Problem
from compatcheck.matrix.lint.context import Context
from compatcheck.matrix.lint.releases import version
from compatcheck.matrix.model import Kernel, Refusal, Rule
from compatcheck.matrix.versions import contains

CODE = "version-range"


def check(context: Context) -> list[Problem]:
    """Return the ranges of rules, refusals and kernels that are not usable."""
    fields = [((*path, "versions"), rule.versions) for path, rule in context.records(Rule)]
    fields += [((*path, "versions"), refusal.versions) for path, refusal in context.records(Refusal)]
    fields += [((*path, "uncertain"), kernel.uncertain) for path, kernel in context.records(Kernel)]
    found = [(path, range_problem(text)) for path, text in fields if text is not None]
    problems = [context.problem(path, CODE, message) for path, message in found if message]
    return problems + _unmet(context)


def _unmet(context: Context) -> list[Problem]:
    """Return the ranges of rules and refusals that no release meets, nor a nightly of one."""
    flashinfer = context.names_of_list("libraries", "flashinfer", "releases")
    known = {
        "engine_version": [name for e in context.names("engines") for name in context.names("engines", e, "releases")],
        "flashinfer_version": flashinfer,
    }
    fields = [((*path, "versions"), rule.versions, known.get(rule.axis, [])) for path, rule in context.records(Rule)]
    fields += [((*path, "versions"), refusal.versions, flashinfer) for path, refusal in context.records(Refusal)]
    return [
        context.problem(
            path, CODE, f"{text!r} takes in no release that the matrix knows, nor a nightly of one", "warning"
        )
        for path, text, releases in fields
        if text is not None and range_problem(text) is None and _meets_none(text, releases)
    ]


def _meets_none(text: str, releases: list[str]) -> bool:
    """Return whether a range that does not end before the oldest release takes in none, and no nightly of one."""
    tried = _tried(tuple(releases))
    if not tried or any(contains(text, one) for one in tried):
        return False
    return not version_range(text).is_disjoint(version_range(f">={tried[0]}"))


@lru_cache(maxsize=16)
def _tried(releases: tuple[str, ...]) -> list[str]:
    """Return each release and a nightly of it, the oldest release first."""
    versions = sorted(v for v in map(version, releases) if v is not None)
    return [str(v) for release in versions for v in (release, f"{release.base_version}.dev1")]


@lru_cache(maxsize=4096)
def range_problem(text: str) -> str | None:
    """Return what is wrong with a version range, or None."""
    if not text.strip():
        return "an empty range matches every version; leave it out"
    try:
        specifiers = SpecifierSet(text)
    except InvalidSpecifier:
        return f"{text!r} is not a PEP 440 range such as '>=0.6.12,<0.6.15.dev0'"
    if any(part.operator == "===" for part in specifiers):
        return f"{text!r}: === compares text; use =="
    if "+" in text:
        return f"{text!r} names a local part, and versions are compared without theirs"
    if version_range(text).is_empty:
        return f"{text!r} matches no version at all"
    return None


@lru_cache(maxsize=4096)
def version_range(text: str) -> VersionRange:
    """Return the set of versions that a range matches, pre-releases counted. Raises `InvalidSpecifier`."""
    return SpecifierSet(text, prereleases=True).to_range()
