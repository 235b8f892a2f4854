"""A release's METADATA with its extras, and whether it is the release that was asked for."""

from __future__ import annotations

from typing import NamedTuple

from compatcheck.audit.archives import ReleaseError
from compatcheck.host.metadata import canonical, is_valid_version, parse_fields
from compatcheck.matrix.versions import parse


class Described(NamedTuple):
    """Name, version, requirements and extras as written; a missing field is None or empty."""

    name: str | None
    version: str | None
    requires: tuple[str, ...]
    extras: tuple[str, ...]


def described(raw: bytes) -> Described:
    """Return what the bytes of a METADATA file say."""
    fields = parse_fields(raw)
    return Described(
        name=next(iter(fields.get("name", ())), None) or None,
        version=next(iter(fields.get("version", ())), None) or None,
        requires=tuple(fields.get("requires-dist", ())),
        extras=tuple(fields.get("provides-extra", ())),
    )


def expect(metadata: Described, shown: str, name: str, version: str | None) -> str:
    """Return the version. Raises `ReleaseError` where metadata names another distribution or version."""
    if metadata.name is None or canonical(metadata.name) != name:
        raise ReleaseError(f"{shown}: METADATA says that this is {metadata.name!r}, not {name!r}")
    if metadata.version is None or not is_valid_version(metadata.version):
        raise ReleaseError(f"{shown}: METADATA names no version that follows PEP 440: {metadata.version!r}")
    if version is not None and parse(metadata.version).public != parse(version).public:
        raise ReleaseError(f"{shown}: METADATA says version {metadata.version}, not {version}")
    return metadata.version
