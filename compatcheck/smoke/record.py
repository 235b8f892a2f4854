"""The running record: one JSON line per result, written as it comes, so that a killed run loses nothing."""

from __future__ import annotations

import os
from pathlib import Path
from typing import IO

import msgspec

from compatcheck.smoke.fingerprint import Fingerprint
from compatcheck.smoke.outcome import Result


class RecordError(ValueError):
    """A record that cannot be used, with the place."""


class Header(msgspec.Struct, frozen=True, kw_only=True):
    """First line of a record: what it is and where it was made."""

    record: str = "compatcheck-smoke"
    schema: int = 1
    level: str
    fingerprint: Fingerprint


class Record:
    """A record open for appending. Use as a context manager."""

    def __init__(self, path: Path, stream: IO[bytes], results: dict[str, Result]) -> None:
        self.path = path
        self._stream = stream
        self.results = results
        """Results that were there when it was opened."""

    def append(self, result: Result) -> None:
        """Add a line and hand it to the operating system at once."""
        self._stream.write(msgspec.json.encode(result) + b"\n")
        self._stream.flush()

    def __enter__(self) -> Record:
        return self

    def __exit__(self, *exc: object) -> None:
        self._stream.close()


def open_record(path: Path, header: Header, *, resume: bool) -> Record:
    """Start a record, or continue one that was made with the same GPU, versions, matrix and level.

    Raises `RecordError` where the record to continue is of something else, is no record, or has a damaged line that
    is not the last one (a run that was killed may leave half a line at the end; it is cut off).
    """
    results: dict[str, Result] = {}
    path.parent.mkdir(parents=True, exist_ok=True)
    if resume and path.exists():
        kept, results = _read(path, header)
        stream: IO[bytes] = path.open("r+b")
        stream.truncate(kept)
        stream.seek(0, os.SEEK_END)
    else:
        stream = path.open("wb")
    record = Record(path, stream, results)
    if stream.tell() == 0:
        stream.write(msgspec.json.encode(header) + b"\n")
        stream.flush()
    return record


def _read(path: Path, header: Header) -> tuple[int, dict[str, Result]]:
    data = path.read_bytes()
    end = data.rfind(b"\n") + 1
    lines = data[:end].split(b"\n")[:-1]
    if not lines:
        return 0, {}
    try:
        found = msgspec.json.decode(lines[0], type=Header)
    except msgspec.MsgspecError as error:
        raise RecordError(
            f"{path}:1: not a record of a smoke run ({error}); give another file, or run without --resume"
        ) from error
    for what, ours, theirs in (
        ("fingerprint", header.fingerprint.identity(), found.fingerprint.identity()),
        ("level", header.level, found.level),
    ):
        if ours != theirs:
            raise RecordError(
                f"{path}:1: the record is of another {what} ({_difference(theirs, ours)}); run without --resume, "
                "or give another --record"
            )
    results: dict[str, Result] = {}
    for number, line in enumerate(lines[1:], start=2):
        try:
            result = msgspec.json.decode(line, type=Result)
        except msgspec.MsgspecError as error:
            raise RecordError(f"{path}:{number}: damaged line ({error})") from error
        results[result.id] = result
    return end, results


def _difference(theirs: object, ours: object) -> str:
    if isinstance(theirs, dict) and isinstance(ours, dict):
        names = [k for k in {**theirs, **ours} if theirs.get(k) != ours.get(k)]
        return ", ".join(f"{n}: {theirs.get(n)} there, {ours.get(n)} here" for n in names)
    return f"{theirs} there, {ours} here"
