"""`check -- LAUNCH COMMAND`: the verdict for a launch, in every format that `check` has."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click
import msgspec

from compatcheck.cli.exit_codes import USAGE, of_verdicts
from compatcheck.cli.launch_command import document_of, judge_words
from compatcheck.resolve.merge import with_findings
from compatcheck.resolve.verdict import Assumption

if TYPE_CHECKING:
    from pathlib import Path

    from compatcheck.launch.judge import LaunchVerdict
    from compatcheck.matrix.load import LoadedMatrix
    from compatcheck.report.diagnostic import Diagnostic
    from compatcheck.resolve.configuration import Configuration


def run_check(
    loaded: LoadedMatrix,
    command: tuple[str, ...],
    model: str | None,
    given: Configuration,
    host_file: Path | None,
    format_: str,
    *,
    use_host: bool,
    words: bool,
    wanted: bool,
) -> int:
    """Print the verdict of a launch for each GPU; return the exit code. `wanted`: look for alternatives."""
    answers = [
        _with_grounds(verdict, grounds)
        for verdict, grounds in judge_words(
            loaded, command, model, given, host_file, use_host=use_host, alternatives=wanted
        )
    ]
    unreadable = dict.fromkeys(str(problem) for answer in answers for problem in answer.launch.unreadable)
    for problem in unreadable:
        click.echo(problem, err=True)
    if unreadable and not any(a.field == "model" for answer in answers for a in answer.launch.assumed):
        return USAGE  # nothing of the model was read
    if words:
        from compatcheck.cli.answer import print_engine_words

        print_engine_words([(a.lead, _words(loaded, a)) for a in answers], format_)
    elif format_ == "text":
        _text(answers)
    elif format_ in ("json", "jsonl"):
        _json(answers, format_)
    else:
        from compatcheck.report import github, sarif

        diagnostics = [d for answer in answers for d in _diagnostics(answer)]
        if format_ == "sarif":
            sys.stdout.buffer.write(sarif.render(diagnostics))
        else:
            sys.stdout.write(github.render(diagnostics))
    return USAGE if unreadable else of_verdicts(answer.lead.verdict for answer in answers)


def _words(loaded: LoadedMatrix, answer: LaunchVerdict) -> str:
    """Return what the engine says: its parser first, which stops before anything is selected."""
    from compatcheck.launch.refusals import parser_words
    from compatcheck.report.engine_words import config_refusal, render

    refused = [placed.finding for placed in answer.launch.findings if placed.finding.effect == "unsupported"]
    parts = [answer.attention.verdict, *(one.verdict for one in answer.linear)]
    if any(part is not None and part.fails_at in ("config", "selection") for part in parts):
        refused = [finding for finding in refused if finding.bites == "config"]  # what comes later is never reached
    said = parser_words(refused)
    if not said and refused:
        click.echo(f"compatcheck: {refused[0].message} Its exact words are not known.", err=True)
        return ""
    if said:
        return said
    attention, facts = answer.attention.verdict, answer.attention.facts
    if attention is not None and facts is not None and config_refusal(attention) is not None:
        return render(loaded.matrix, attention, facts)  # nothing is made where the configuration is refused
    lines = list(dict.fromkeys(render(loaded.matrix, one.verdict, one.facts) for one in answer.linear))
    if all(one.verdict.selected for one in answer.linear) and attention is not None and facts is not None:
        lines.append(render(loaded.matrix, attention, facts))  # a layer's projections are made before its attention
    return "\n".join(lines)


def _with_grounds(verdict: LaunchVerdict, grounds: dict[str, str]) -> LaunchVerdict:
    """Say what came from the host."""
    told = [Assumption(field, getattr(verdict.facts, field), ground) for field, ground in grounds.items()]
    return msgspec.structs.replace(verdict, lead=with_findings(verdict.lead, [], told)) if told else verdict


def _text(answers: list[LaunchVerdict]) -> None:
    from compatcheck.report import launch_text, verdict_text
    from compatcheck.report.styled import line, write

    for index, answer in enumerate(answers):
        head = [line()] if index else []
        write(head + verdict_text.render(answer.lead, answer.facts) + launch_text.render(answer), sys.stdout)


def _json(answers: list[LaunchVerdict], format_: str) -> None:
    documents = [document_of(answer) for answer in answers]
    if format_ == "jsonl":
        data = b"".join(msgspec.json.encode(document) + b"\n" for document in documents)
    else:
        encoded = msgspec.json.encode(documents[0] if len(documents) == 1 else documents)
        data = msgspec.json.format(encoded, indent=2) + b"\n"
    sys.stdout.buffer.write(data)


def _diagnostics(answer: LaunchVerdict) -> list[Diagnostic]:
    from compatcheck.report.diagnostic import of_verdict

    return of_verdict(msgspec.structs.replace(answer.lead, findings=answer.findings))
