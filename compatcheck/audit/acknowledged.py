"""Gates that the reader does not understand and a person has compared with the matrix, by fingerprint.

A fingerprint covers every function that takes part in the answer, so that a changed gate comes up again. The file is
data: facts and fingerprints, no code of anybody else's.
"""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

import msgspec

from compatcheck.matrix.versions import parse

T = TypeVar("T")
FILE = Path(__file__).resolve().parent / "data" / "acknowledged.json"


class Entry(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One gate: `BACKEND.check`, its fingerprints, and what of the matrix answers for it."""

    gate: str
    digests: dict[str, list[str]]
    """Fingerprint -> the releases that have it."""
    covered_by: str
    why: str = ""


class Acknowledged(msgspec.Struct, frozen=True, kw_only=True):
    """The file."""

    schema: int
    gates: list[Entry]
    recorded: list[str] = []
    """FlashInfer releases whose parameters were looked at; one between them is not compared."""
    parameters: dict[str, dict[str, list[str]]] = {}
    """Symbol -> FlashInfer release since which -> parameters, as `function(a, b)`."""
    requirements: dict[str, dict[str, str]] = {}
    """Symbol -> FlashInfer release since which -> fingerprint of its argument checks."""
    wheels: dict[str, list[str]] = {}
    """FlashInfer release since which -> its extras, and what it requires without one."""


def load(path: Path = FILE) -> Acknowledged:
    """Return what a file says. Raises `ValueError` with its name where it cannot be used."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=Acknowledged)
    except OSError as error:
        raise ValueError(f"{path}: cannot be read: {error.strerror}") from None
    except msgspec.MsgspecError as error:
        raise ValueError(f"{path}: no file of acknowledged gates: {error}") from None


def at(known: Acknowledged, table: dict[str, T], version: str) -> T | None:
    """Return the line of a table that holds for a FlashInfer release, or None where nobody has looked."""
    here = parse(version)
    looked = [parse(release) for release in known.recorded]
    if here not in looked and (not looked or here < max(looked)):
        return None
    fitting = [since for since in table if parse(since) <= here]
    return table[max(fitting, key=parse)] if fitting else None


def covered(known: Acknowledged, gate: str, digest: str) -> str | None:
    """Return what covers a gate with this fingerprint, or None where nobody has looked at it."""
    for entry in known.gates:
        if entry.gate == gate and digest in entry.digests:
            return entry.covered_by
    return None
