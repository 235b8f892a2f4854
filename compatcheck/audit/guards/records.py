"""Fingerprints of guards that a person has compared with the matrix, by release.

The file says per file of a release, per name, which fingerprint the name has in which releases: `A..B` is every
recorded release from A to B.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

import msgspec

from compatcheck.audit.guards.item import Guard
from compatcheck.matrix.versions import parse

FILE = Path(__file__).resolve().parent.parent / "data" / "guards.json"
CHANGED = "changed, and nobody has compared it"
NEW = "new, and nobody has compared it"
GONE = "gone, and nobody has compared what is without it"


class Table(msgspec.Struct, kw_only=True):
    """The guards of one package."""

    releases: list[str] = []
    guards: dict[str, dict[str, dict[str, str]]] = {}
    """File -> name -> fingerprint -> releases."""


class Records(msgspec.Struct, kw_only=True):
    """The file."""

    schema: int = 1
    vllm: Table = msgspec.field(default_factory=Table)
    flashinfer: Table = msgspec.field(default_factory=Table)


def load(path: Path = FILE) -> Records:
    """Return what a file says. Raises `ValueError` with its name where it cannot be used."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=Records)
    except OSError as error:
        raise ValueError(f"{path}: cannot be read: {error.strerror}") from None
    except msgspec.MsgspecError as error:
        raise ValueError(f"{path}: no file of guards: {error}") from None


def unrecorded(table: Table, version: str, guards: Iterable[Guard]) -> list[tuple[Guard, str]]:
    """Return guards whose fingerprint nobody has compared, with why.

    A release that was recorded must have its own fingerprints, and all of them; for any other, one that some recorded
    release has will do.
    """
    recorded = version in table.releases
    found: list[tuple[Guard, str]] = []
    here = {guard.key for guard in guards}
    for guard in guards:
        digests = _digests(table, guard.key)
        if guard.digest in digests and (not recorded or version in _spread(table, digests[guard.digest])):
            continue
        found.append((guard, CHANGED if digests else NEW))
    for file, names in table.guards.items() if recorded else ():
        for name, digests in names.items():
            key = f"{file}:{name}"
            if file.endswith("/envs.py") or name.startswith("import "):
                continue  # who does not read or import it any longer has changed
            if key not in here and any(version in _spread(table, text) for text in digests.values()):
                found.append((Guard(group="what was there", key=key, line=0, digest=""), GONE))
    return found


def record(table: Table, version: str, guards: Iterable[Guard]) -> None:
    """Enter a release; what was entered for it before is forgotten."""
    spread = {
        (file, name, digest): set(_spread(table, text)) - {version}
        for file, names in table.guards.items()
        for name, digests in names.items()
        for digest, text in digests.items()
    }
    for guard in guards:
        file, _, name = guard.key.partition(":")
        spread.setdefault((file, name, guard.digest), set()).add(version)
    table.releases = sorted({*table.releases, version}, key=parse)
    table.guards = {}
    for (file, name, digest), releases in sorted(spread.items()):
        if releases:
            table.guards.setdefault(file, {}).setdefault(name, {})[digest] = _ranges(table.releases, releases)


def text(records: Records) -> str:
    """Return the file's text: one line for one guard."""
    parts: list[str] = []
    for package in ("vllm", "flashinfer"):
        table: Table = getattr(records, package)
        files = [
            f"   {json.dumps(file)}: {{\n"
            + ",\n".join(f"    {json.dumps(name)}: {json.dumps(digests)}" for name, digests in names.items())
            + "\n   }"
            for file, names in table.guards.items()
        ]
        releases = json.dumps(table.releases)
        parts.append(f' "{package}": {{\n  "releases": {releases},\n  "guards": {{\n' + ",\n".join(files) + "\n  }\n }")
    return f'{{\n "schema": {records.schema},\n' + ",\n".join(parts) + "\n}\n"


def _digests(table: Table, key: str) -> dict[str, str]:
    file, _, name = key.partition(":")
    return table.guards.get(file, {}).get(name, {})


def _spread(table: Table, text_: str) -> list[str]:
    found: list[str] = []
    for part in text_.split():
        first, _, last = part.partition("..")
        order = table.releases
        if first in order and (last or first) in order:
            found += order[order.index(first) : order.index(last or first) + 1]
    return found


def _ranges(order: list[str], releases: set[str]) -> str:
    parts: list[list[str]] = []
    for before, release in zip(["", *order], order, strict=False):
        if release not in releases:
            continue
        if parts and parts[-1][-1] == before:
            parts[-1].append(release)
        else:
            parts.append([release])
    return " ".join(part[0] if len(part) == 1 else f"{part[0]}..{part[-1]}" for part in parts)
