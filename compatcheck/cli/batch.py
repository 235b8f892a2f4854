"""Batches: one configuration per line in, one verdict per line out, in the same order."""

from __future__ import annotations

import codecs
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click
import msgspec

from compatcheck.cli.exit_codes import USAGE, of_verdicts
from compatcheck.resolve.configuration import FIELDS, Configuration
from compatcheck.resolve.normalise import ConfigurationError, Normalised, Normaliser, nearest
from compatcheck.resolve.verdict import Verdict

if TYPE_CHECKING:
    from compatcheck.matrix.load import LoadedMatrix

_KEY = re.compile(rb'"([a-z0-9_]+)"\s*:')
SHOWN = 20
"""Problems printed before the rest is only counted."""


def run_batch(loaded: LoadedMatrix, path: Path, defaults: Configuration, format_: str, *, alternatives: bool) -> int:
    """Judge every line of a file and write the verdicts to standard output; return the exit code.

    Options given beside --batch fill the fields that a line leaves out. Every line is read before anything is judged:
    a file with an unreadable line gives no verdicts, only the places of all such lines, and exit code 2.
    """
    name = "<stdin>" if str(path) == "-" else str(path)
    try:
        data = sys.stdin.buffer.read() if name == "<stdin>" else path.read_bytes()
    except (OSError, ValueError) as error:  # ValueError: a NUL character in the name
        click.echo(f"{name}: cannot be read: {getattr(error, 'strerror', None) or error}", err=True)
        return USAGE
    data = data.removeprefix(codecs.BOM_UTF8)
    lines = data.split(b"\n")
    if lines and not lines[-1].strip():
        lines.pop()
    rows, problems = _read(loaded, lines, name, defaults)
    if problems:
        return _tell(problems)
    verdicts = [_judge(loaded, row, alternatives) for row in rows]
    _write(verdicts, name, format_)
    return of_verdicts(verdict.verdict for verdict in verdicts)


def _tell(problems: list[str]) -> int:
    for problem in problems[:SHOWN]:
        click.echo(problem, err=True)
    if len(problems) > SHOWN:
        click.echo(f"... and {len(problems) - SHOWN} more", err=True)
    return USAGE


def _judge(loaded: LoadedMatrix, row: Normalised, alternatives: bool) -> Verdict:
    verdict: Verdict = loaded.resolver.judge(row)
    if alternatives and verdict.verdict != "supported":
        from compatcheck.resolve.alternatives import find_alternatives

        given = msgspec.structs.replace(row.facts, **{assumption.field: None for assumption in row.assumed})
        found = find_alternatives(loaded.resolver, given, verdict)
        return msgspec.structs.replace(verdict, alternatives=found)
    return verdict


def _read(
    loaded: LoadedMatrix, lines: list[bytes], name: str, defaults: Configuration
) -> tuple[list[Normalised], list[str]]:
    decoder = msgspec.json.Decoder(Configuration)
    normaliser = Normaliser(loaded.matrix, defaults)
    rows: list[Normalised] = []
    problems: list[str] = []
    for number, line in enumerate(lines, start=1):
        try:
            given = decoder.decode(line)
            if _may_repeat(line, given) and len(set(keys := _KEY.findall(line))) < len(keys):
                problems.append(_twice(name, number, line))
                continue
            rows.append(normaliser(given))
        except msgspec.MsgspecError as error:
            problems.append(_problem(name, number, line, error))
        except ConfigurationError as error:
            problems += [f"{name}:{number}:{_column(line, field)}: {field}: {text}" for field, text in error.problems]
    return rows, problems


def _may_repeat(line: bytes, given: Configuration) -> bool:
    """Return whether a line may say a key twice: it has more keys than fields, or is written in an unusual way."""
    fields = len(FIELDS) - msgspec.structs.astuple(given).count(None)
    return line.count(b'":') != fields or b'" :' in line or b'"\t:' in line


def _column(line: bytes, field: str) -> int:
    """Return the column, in characters from 1, of a field's name; 1 where the line does not have it."""
    return len(line[: max(line.find(f'"{field}"'.encode()), 0)].decode("utf-8", "replace")) + 1


def _twice(name: str, number: int, line: bytes) -> str:
    seen: set[bytes] = set()
    for key in _KEY.finditer(line):
        if key[1] in seen:
            break
        seen.add(key[1])
    column = len(line[: key.start()].decode("utf-8", "replace")) + 1
    return f"{name}:{number}:{column}: {key[1].decode()} is given twice"


def _problem(name: str, number: int, line: bytes, error: msgspec.MsgspecError) -> str:
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


def _write(verdicts: list[Verdict], name: str, format_: str) -> None:
    if format_ in ("json", "jsonl"):
        encoder = msgspec.json.Encoder()
        out = sys.stdout.buffer
        if format_ == "jsonl":
            out.write(encoder.encode_lines(verdicts))
        else:
            out.write(encoder.encode({"schema": 1, "verdicts": verdicts}) + b"\n")
        return
    if format_ == "text":
        counts: dict[str, int] = {}
        for number, verdict in enumerate(verdicts, start=1):
            counts[verdict.verdict] = counts.get(verdict.verdict, 0) + 1
            codes = ", ".join(dict.fromkeys(f.code for f in verdict.findings if f.effect != "note"))
            click.echo(f"{name}:{number}: {verdict.verdict}" + (f" ({codes})" if codes else ""))
        click.echo(", ".join(f"{count} {verdict}" for verdict, count in counts.items()), err=True)
        return
    from compatcheck.report import github, sarif
    from compatcheck.report.diagnostic import of_verdict

    diagnostics = [d for number, v in enumerate(verdicts, start=1) for d in of_verdict(v, name, number)]
    if format_ == "sarif":
        sys.stdout.buffer.write(sarif.render(diagnostics))
    else:
        sys.stdout.write(github.render(diagnostics))
