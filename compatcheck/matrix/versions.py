"""Versions and ranges: PEP 440, with pre-releases counted, since nightlies are what people run."""

from __future__ import annotations

from functools import lru_cache

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import InvalidVersion, Version

__all__ = ["InvalidSpecifier", "InvalidVersion", "Version", "beyond", "contains", "parse", "public", "specifiers"]

parse = lru_cache(maxsize=4096)(Version)
"""Parse a version once; raises `InvalidVersion`."""


@lru_cache(maxsize=4096)
def specifiers(text: str) -> SpecifierSet:
    """Parse a specifier set once; raises `InvalidSpecifier`."""
    return SpecifierSet(text)


@lru_cache(maxsize=65536)
def contains(spec: str, version: str) -> bool:
    """Return whether a version lies in a range; a local part such as +cu130 never decides."""
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
