"""Read one installed distribution's metadata directory (.dist-info or .egg-info) from its files.

`importlib.metadata` would do, but importing it costs more time than all the rest of a check.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

import msgspec

from compatcheck.matrix.versions import InvalidVersion, parse

_LARGEST = 8 << 20
_SEPARATORS = re.compile(r"[-_.]+")
_ENTRY = re.compile(r"(?P<name>[^-]+)(?:-(?P<version>.*?))?(?:-py3\.\d+)?\.(?:dist|egg)-info\Z")
_CLAUSE = r"(?:[<>=!~]=?=?\s*[^\s,;()]+)"
_REQUIREMENT = re.compile(
    r"\s*(?P<name>[A-Za-z0-9][A-Za-z0-9._-]*)\s*(?:\[[^\]]*\])?\s*"
    rf"\(?(?P<range>{_CLAUSE}?(?:\s*,\s*{_CLAUSE})*)\s*\)?\s*(?:;(?P<marker>.*))?\Z"
)


class Metadata(NamedTuple):
    """Name, version and requirements as written; a missing field is None or empty."""

    name: str | None
    version: str | None
    requires: tuple[str, ...]


class MetadataError(Exception):
    """The metadata file is missing or cannot be read; the text says which, without a path."""


def canonical(name: str) -> str:
    """Return a distribution name as PEP 503 writes it: 'flashinfer_python' -> 'flashinfer-python'."""
    return _SEPARATORS.sub("-", name).lower()


def entry_name(entry: str) -> str | None:
    """Return the canonical name of the distribution whose metadata directory has this name, or None."""
    match = _ENTRY.match(entry)
    return canonical(match["name"]) if match else None


def read_metadata(directory: Path) -> Metadata:
    """Read METADATA (dist-info), PKG-INFO (egg-info directory) or the egg-info file itself.

    Raises `MetadataError` where there is no such file or it cannot be read.
    """
    name = "METADATA" if directory.name.endswith(".dist-info") else "PKG-INFO"
    path = directory if directory.is_file() else directory / name
    try:
        with path.open("rb") as stream:
            raw = stream.read(_LARGEST)
    except FileNotFoundError:
        raise MetadataError(f"{name} is missing") from None
    except OSError as error:
        raise MetadataError(f"{name} cannot be read: {error.strerror or type(error).__name__}") from None
    return parse_metadata(raw)


def parse_metadata(raw: bytes) -> Metadata:
    """Return what the bytes of a METADATA file say."""
    fields = parse_fields(raw)
    return Metadata(
        name=next(iter(fields.get("name", ())), None) or None,
        version=next(iter(fields.get("version", ())), None) or None,
        requires=tuple(fields.get("requires-dist", ())),
    )


def parse_fields(raw: bytes) -> dict[str, list[str]]:
    """Return every field of a METADATA file by its name in lower case, such as `provides-extra`."""
    fields: dict[str, list[str]] = {}
    # Not splitlines(): a folded licence may hold form feeds, and lines of blanks alone, which end nothing.
    for line in raw.decode("utf-8", "replace").replace("\r\n", "\n").split("\n"):
        if not line:  # the description follows the headers
            break
        key, colon, value = line.partition(":")
        if colon and not line[0].isspace():
            fields.setdefault(key.strip().lower(), []).append(value.strip())
    return fields


def is_valid_version(version: str) -> bool:
    """Return whether a version follows PEP 440."""
    try:
        parse(version)
    except InvalidVersion:
        return False
    return True


def requirements(requires: tuple[str, ...]) -> dict[str, str]:
    """Return canonical name -> version range for the requirements that apply without any extra."""
    found: dict[str, str] = {}
    for text in requires:
        match = _REQUIREMENT.match(text)
        if match is None or (match["marker"] and not _applies(match["marker"])):
            continue
        found[canonical(match["name"])] = ",".join(part.strip() for part in match["range"].split(",") if part.strip())
    return found


def _applies(marker: str) -> bool:
    if re.search(r"\bextra\b", marker):
        return False
    from packaging.markers import InvalidMarker, Marker, UndefinedEnvironmentName

    try:
        return Marker(marker.strip()).evaluate()
    except (InvalidMarker, UndefinedEnvironmentName):
        return False


def is_editable(directory: Path) -> bool:
    """Return whether pip recorded an editable install (direct_url.json, PEP 610)."""
    try:
        document = msgspec.json.decode((directory / "direct_url.json").read_bytes())
    except (OSError, msgspec.DecodeError):
        return False
    info = document.get("dir_info") if isinstance(document, dict) else None
    return bool(isinstance(info, dict) and info.get("editable"))
