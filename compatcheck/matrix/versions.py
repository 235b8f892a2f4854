"""Versions and ranges: PEP 440, with pre-releases counted, since nightlies are what people run."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from operator import eq, ge, le, ne
from typing import TYPE_CHECKING, Any

from packaging.version import InvalidVersion, Version

if TYPE_CHECKING:
    from packaging.specifiers import InvalidSpecifier, SpecifierSet

__all__ = [
    "InvalidSpecifier",
    "InvalidVersion",
    "Version",
    "beyond",
    "check_range",
    "contains",
    "parse",
    "public",
    "specifiers",
]

parse = lru_cache(maxsize=4096)(Version)
"""Parse a version once; raises `InvalidVersion`."""


@lru_cache(maxsize=4096)
def specifiers(text: str) -> SpecifierSet:
    """Parse a specifier set once; raises `InvalidSpecifier`."""
    from packaging.specifiers import SpecifierSet

    return SpecifierSet(text)


def _before(version: Version, bound: Version) -> bool:
    """Compare as "<" does: a pre-release of the bound itself is older than it, but not meant."""
    if bound.is_prerelease or not version.is_prerelease:
        return version < bound
    return version < bound and parse(version.base_version) != parse(bound.base_version)  # 0.7 and 0.7.0 are one


_ORDER: dict[str, Callable[[Version, Version], bool]] = {">=": ge, "<=": le, "<": _before, "==": eq, "!=": ne}


@lru_cache(maxsize=4096)
def _bounds(spec: str) -> list[tuple[Callable[[Version, Version], bool], Version]] | None:
    """Return the bounds of a range such as ">=0.6.15.dev0,<0.7.0.dev0"; None where there is more to it than order.

    Nearly every range of the matrix is one, and packaging's specifiers take longer to import than to answer all.
    """
    bounds: list[tuple[Callable[[Version, Version], bool], Version]] = []
    for part in spec.split(","):
        text = part.strip()
        operator = text[:2] if text[1:2] == "=" else text[:1]
        try:
            bound = parse(text[len(operator) :].strip())
        except InvalidVersion:
            return None
        if operator not in _ORDER or bound.local is not None:
            return None
        if operator == "<" and bound.is_postrelease and not bound.is_prerelease:
            return None  # which pre-releases are meant is packaging's to say
        bounds.append((_ORDER[operator], bound))
    return bounds


def check_range(spec: str) -> None:
    """Raise `InvalidSpecifier` where this is no range."""
    if _bounds(spec) is None:
        specifiers(spec)


@lru_cache(maxsize=65536)
def contains(spec: str, version: str) -> bool:
    """Return whether a version lies in a range; a local part such as +cu130 never decides."""
    at = parse(parse(version).public)
    bounds = _bounds(spec)
    if bounds is not None:
        return all(compare(at, bound) for compare, bound in bounds)
    return specifiers(spec).contains(parse(version).public, prereleases=True)


@lru_cache(maxsize=4096)
def public(version: str) -> str:
    """Return the version without its local part: '2.14.0+cu130' -> '2.14.0'."""
    return parse(version).public


@lru_cache(maxsize=4096)
def place(version: str, releases: tuple[str, ...]) -> tuple[str, str | None]:
    """Return the known release that answers for a version, and why it is not the version itself (or None).

    `releases` are known releases, oldest first. A pre-release of a known release (0.33.0rc1) is answered as that
    release; anything else as the newest release that is not newer than it, or the oldest one.
    """
    wanted = parse(version)
    at = parse(wanted.public)
    known = [(parse(text), text) for text in releases]
    for candidate, text in known:
        if candidate == wanted or parse(candidate.public) == at:
            return text, None
    for candidate, text in known:
        if wanted.is_prerelease and candidate.base_version == wanted.base_version and not candidate.is_postrelease:
            return text, f"{version} is a pre-release of {text}"
    older = [text for candidate, text in known if candidate <= at]
    if not older:
        return known[0][1], f"{version} is older than {known[0][1]}, the oldest release in the matrix"
    if older[-1] == known[-1][1]:
        return older[-1], f"{version} is newer than {older[-1]}, the newest release in the matrix"
    return older[-1], f"{version} is not a release in the matrix; {older[-1]} is the one before it"


@lru_cache(maxsize=4096)
def beyond(version: str, releases: tuple[str, ...]) -> bool:
    """Return whether a version is of another epoch or major number than every known release: nothing follows for it."""
    wanted = parse(version)
    return all((wanted.epoch, wanted.major) != (known.epoch, known.major) for known in map(parse, releases))


def __getattr__(name: str) -> Any:
    if name == "InvalidSpecifier":  # imported where somebody catches it
        from packaging.specifiers import InvalidSpecifier

        return InvalidSpecifier
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
