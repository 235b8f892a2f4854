"""Batches: one configuration per line in, one verdict per line out, in the same order."""

from __future__ import annotations

import codecs
import gc
import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import click
import msgspec

from compatcheck.cli.batch_answers import AT_ONCE, KEPT
from compatcheck.cli.batch_parts import Problem, judge_in_parts, processes
from compatcheck.cli.batch_runs import runs
from compatcheck.cli.batch_sweep import Sweep
from compatcheck.cli.complain import complain
from compatcheck.cli.exit_codes import USAGE, of_verdicts
from compatcheck.resolve.configuration import FIELDS, Configuration
from compatcheck.resolve.kinds import Kinds, Row
from compatcheck.resolve.normalise import ConfigurationError, nearest
from compatcheck.resolve.verdict import Verdict, VerdictName

if TYPE_CHECKING:
    from compatcheck.matrix.load import LoadedMatrix

_STRING = re.compile(rb'("(?:[^"\\]|\\.)*")(\s*:)?')
"""A string of a JSON text, and the colon that makes it a key."""
SHOWN = 20
"""Problems printed before the rest is only counted."""


def run_batch(loaded: LoadedMatrix, path: Path, defaults: Configuration, format_: str, *, alternatives: bool) -> int:
    """Judge every line of a file and write the verdicts to standard output; return the exit code.

    Options given beside --batch fill the fields that a line leaves out. Every line is read before anything is written:
    a file with an unreadable line gives no verdicts, only the places of all such lines, and exit code 2.
    """
    name = "<stdin>" if str(path) == "-" else str(path)
    try:
        data = sys.stdin.buffer.read() if name == "<stdin>" else path.read_bytes()
    except (OSError, ValueError) as error:  # ValueError: a NUL character in the name
        complain(f"{name}: cannot be read: {getattr(error, 'strerror', None) or error}")
        return USAGE
    data = data.removeprefix(codecs.BOM_UTF8)
    lines = data.split(b"\n")
    if lines and not lines[-1].strip():
        lines.pop()

    job = _Job(loaded, lines, name, Kinds(loaded.resolver, defaults), Sweep(), format_, alternatives)
    parts = processes(len(lines)) if format_ == "jsonl" else 1
    with _uncollected():
        if parts > 1:
            problems, seen = judge_in_parts(runs(lines, parts), parts, job, sys.stdout.buffer)
        else:
            rows, problems = job.read(0, len(lines))
            seen = set() if problems else _write(job.verdicts(rows), name, format_)
    return _tell([text for _, text in problems]) if problems else of_verdicts(seen)


@contextmanager
def _uncollected() -> Iterator[None]:
    """Do without the collector of cycles: a batch makes none, and keeps much that would be walked again and again."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()  # nor is it walked by a collection afterwards, or when the process ends
        if was:
            gc.enable()


class _Job(msgspec.Struct):
    """Lines of a batch, and how they are to be answered."""

    loaded: LoadedMatrix
    lines: list[bytes]
    name: str
    kinds: Kinds
    sweep: Sweep
    format_: str
    alternatives: bool

    def read(self, start: int, stop: int) -> tuple[list[Row], list[Problem]]:
        """Return some of the lines as they were read, and the problems of those that cannot be."""
        return _read(self.kinds, self.sweep, self.lines[start:stop], self.name, start + 1)

    def verdicts(self, rows: list[Row]) -> Iterable[Verdict]:
        """Judge lines that were read."""
        self.kinds.expect(rows)
        if self.alternatives:
            return (_judge(self.loaded, self.kinds, row) for row in rows)
        return map(self.kinds.judge, rows)


def _tell(problems: list[str]) -> int:
    for problem in problems[:SHOWN]:
        complain(problem)
    if len(problems) > SHOWN:
        complain(f"... and {len(problems) - SHOWN} more")
    return USAGE


def _judge(loaded: LoadedMatrix, kinds: Kinds, row: Row) -> Verdict:
    verdict = kinds.judge(row)
    if verdict.verdict != "supported":
        from compatcheck.resolve.alternatives import find_alternatives

        normal = kinds.normalised(row)
        given = msgspec.structs.replace(normal.facts, **{assumption.field: None for assumption in normal.assumed})
        found = find_alternatives(loaded.resolver, given, verdict)
        return msgspec.structs.replace(verdict, alternatives=found)
    return verdict


def _read(kinds: Kinds, sweep: Sweep, lines: list[bytes], name: str, first: int) -> tuple[list[Row], list[Problem]]:
    decode = msgspec.json.Decoder(dict[str, Any]).decode
    rows: list[Row] = []
    problems: list[Problem] = []
    for number, line in enumerate(lines, start=first):
        row = sweep.row(line)
        if row is not None:
            rows.append(row)
            continue
        try:
            fields = decode(line)
            # No more colons than keys read, and no null among them: no key is given twice, the fields say it all.
            if line.count(b":") != len(fields) or None in fields.values():
                fields = _carefully(line)
            row = kinds.read(fields)
            rows.append(row)
            sweep.learn(line, row)
        except (msgspec.MsgspecError, RecursionError) as error:
            problems.append((number, _problem(name, number, line, _sharper(line, error))))
        except _TwiceError as error:
            problems.append((number, f"{name}:{number}:{error.column}: {error.key} is given twice"))
        except ConfigurationError as error:
            for field, text in error.problems:
                problems.append((number, f"{name}:{number}:{_column(line, field)}: {field}: {text}"))
    return rows, problems


class _TwiceError(Exception):
    def __init__(self, key: str, column: int) -> None:
        super().__init__(key)
        self.key = key
        self.column = column


def _carefully(line: bytes) -> dict[str, Any]:
    """Return the fields that a line gives. Raises `_TwiceError`, and `MsgspecError` where it is no configuration."""
    given = msgspec.json.decode(line, type=Configuration)
    seen: set[str] = set()
    for string in _STRING.finditer(line):
        if string[2]:
            key = msgspec.json.decode(string[1], type=str)
            if key in seen:
                raise _TwiceError(key, len(line[: string.start()].decode("utf-8", "replace")) + 1)
            seen.add(key)
    return {field: value for field, value in msgspec.structs.asdict(given).items() if value is not None}


def _sharper(line: bytes, error: Exception) -> Exception:
    """Return the error that reading the line as a configuration gives: it stops at the first wrong field."""
    try:
        msgspec.json.decode(line, type=Configuration)
    except msgspec.MsgspecError as sharper:
        return sharper
    return error


def _column(line: bytes, field: str) -> int:
    """Return the column, in characters from 1, of a field's name; 1 where the line does not have it."""
    return len(line[: max(line.find(f'"{field}"'.encode()), 0)].decode("utf-8", "replace")) + 1


def _problem(name: str, number: int, line: bytes, error: Exception) -> str:
    text = str(error)
    column = 1
    if not line.strip():
        return f"{name}:{number}:1: an empty line; every line is one configuration"
    if "unknown field" in text:
        field = text.split("`")[1]
        column = _column(line, field)
        text = f"unknown field {field!r}.{nearest(field, list(FIELDS))}"
    elif "(byte " in text:
        at = int(text.split("(byte ")[1].split(")")[0])
        column = len(line[:at].decode("utf-8", "replace")) + 1
    elif "truncated" in text:
        column = len(line.decode("utf-8", "replace")) + 1
    elif "`$." in text:
        column = _column(line, text.split("`$.")[1].split("`")[0].split("[")[0])
    return f"{name}:{number}:{column}: {text}"


def _write(verdicts: Iterable[Verdict], name: str, format_: str) -> set[VerdictName]:
    """Write verdicts to standard output as they come; return which there were."""
    if format_ in ("json", "jsonl"):
        return _write_json(verdicts, sys.stdout.buffer, lines=format_ == "jsonl")
    seen: set[VerdictName] = set()
    if format_ == "text":
        counts: dict[VerdictName, int] = {}
        for number, verdict in enumerate(verdicts, start=1):
            counts[verdict.verdict] = counts.get(verdict.verdict, 0) + 1
            codes = ", ".join(dict.fromkeys(f.code for f in verdict.findings if f.effect != "note"))
            click.echo(f"{name}:{number}: {verdict.verdict}" + (f" ({codes})" if codes else ""))
        complain(", ".join(f"{count} {verdict}" for verdict, count in counts.items()))
        return set(counts)
    from compatcheck.report import github, sarif
    from compatcheck.report.diagnostic import Diagnostic, of_verdict

    diagnostics: list[Diagnostic] = []
    for number, verdict in enumerate(verdicts, start=1):
        seen.add(verdict.verdict)
        diagnostics += of_verdict(verdict, name, number)
    if format_ == "sarif":
        sys.stdout.buffer.write(sarif.render(diagnostics))
    else:
        sys.stdout.write(github.render(diagnostics))
    return seen


def _write_json(verdicts: Iterable[Verdict], out: BinaryIO, *, lines: bool) -> set[VerdictName]:
    """Write each verdict as soon as it is there. The resolver gives one object for equal answers: encoded once."""
    encode = msgspec.json.Encoder().encode
    known: dict[int, tuple[Verdict, bytes]] = {}
    seen: set[VerdictName] = set()
    waiting: list[bytes] = []
    separator = b"\n" if lines else b","
    if not lines:
        out.write(b'{"schema":1,"verdicts":[')
    between = b""
    for verdict in verdicts:
        one = known.get(id(verdict))
        if one is None:
            seen.add(verdict.verdict)
            if len(known) > KEPT:
                known.clear()
            # The verdict is kept with its text: an id is only unique among objects that live.
            one = known[id(verdict)] = (verdict, encode(verdict))
        waiting.append(one[1])
        if len(waiting) == AT_ONCE:
            out.write(between + separator.join(waiting))
            between = separator
            waiting.clear()
    if waiting:
        out.write(between + separator.join(waiting))
        between = separator
    out.write(b"]}\n" if not lines else between)
    return seen
