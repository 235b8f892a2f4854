"""The running record: one JSON line per result, written as it comes, so that a killed run loses nothing."""

from __future__ import annotations

import contextlib
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
        _write(self.path, self._stream, result)

    def __enter__(self) -> Record:
        return self

    def __exit__(self, *exc: object) -> None:
        with contextlib.suppress(OSError):  # what could not be written was said when it was
            self._stream.close()


def _write(path: Path, stream: IO[bytes], line: Result | Header) -> None:
    try:
        stream.write(msgspec.json.encode(line) + b"\n")
        stream.flush()
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from error


def open_record(path: Path, header: Header, *, resume: bool) -> Record:
    """Start a record, or continue one that was made with the same GPU, versions, matrix and level.

    Raises `RecordError` where the record to continue is of something else, is no record, or has a damaged line that
    is not the last one (a run that was killed may leave half a line at the end; it is cut off), and where another run
    has it open: two runs in one file would tear each other's lines.
    """
    results: dict[str, Result] = {}
    path.parent.mkdir(parents=True, exist_ok=True)
    # Opened without truncation: until it is locked it may be another run's.
    stream = os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT, 0o644), "r+b")
    try:
        _lock(path, stream)
        kept = 0
        if resume:
            kept, results = _read(path, header)
        if path.is_file():
            stream.truncate(kept)
            stream.seek(kept)
        if kept == 0:
            _write(path, stream, header)
    except BaseException:
        with contextlib.suppress(OSError):
            stream.close()
        raise
    return Record(path, stream, results)


def _lock(path: Path, stream: IO[bytes]) -> None:
    try:
        import fcntl
    except ImportError:  # not on Windows
        return
    try:
        fcntl.flock(stream.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise RecordError(
            f"{path}: another run is writing this record; wait for it, or give another --record"
        ) from error
    except OSError:
        return  # a file system without locks


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
