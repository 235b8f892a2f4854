"""compatcheck select: which backend a release picks, in which order it tries them, and why not another."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from compatcheck.cli.complain import complain
from compatcheck.cli.exit_codes import FINDINGS, FINE, UNKNOWN, USAGE
from compatcheck.cli.options import configuration_options, given_configuration, load_matrix, matrix_options
from compatcheck.resolve.normalise import ConfigurationError, normalise

if TYPE_CHECKING:
    from compatcheck.launch.judge import LaunchVerdict
    from compatcheck.matrix.load import LoadedMatrix
    from compatcheck.resolve.configuration import Configuration
    from compatcheck.resolve.selection import SelectionAnswer


@click.command(context_settings={"ignore_unknown_options": False})
@configuration_options
@click.option("--model", help="Model folder, config.json or Hugging Face id.")
@click.option("--why", "name", metavar="NAME", help="What would have to change for this backend to be picked.")
@click.option("--host", "host_file", type=click.Path(path_type=Path), help="A host saved by `probe --format json`.")
@click.option("--no-host", is_flag=True, help="Take nothing from this machine.")
@click.option("--format", "format_", type=click.Choice(["text", "json"]), default="text", help="Default: text.")
@click.argument("command", nargs=-1, type=click.UNPROCESSED)
@matrix_options
def select(
    model: str | None,
    name: str | None,
    host_file: Path | None,
    no_host: bool,
    format_: str,
    command: tuple[str, ...],
    matrix_file: Path | None,
    overlays: tuple[Path, ...],
    **values: Any,
) -> None:
    """Show the backends in the order in which the release tries them, the pick, and each refusal with its reasons.

    MLA models select prefill and decode apart; both are shown. After `--` a launch command may follow. A forced backend
    is told with what the engine says of it; the order is then the one without it.
    """
    import msgspec

    from compatcheck.report.verdict_text import headline
    from compatcheck.resolve.selection import explain_selection, forced_backend, why

    given = given_configuration(values)
    loaded = load_matrix(matrix_file, overlays)
    if name is not None:
        _known(loaded, name.upper())
    use_host = host_file is not None or not no_host
    try:
        asked, code = _asked(loaded, given, command, model, host_file, use_host=use_host)
        answers = []
        for title, configuration in asked:
            answer = explain_selection(loaded.resolver, configuration)
            forced = forced_backend(loaded.resolver, configuration)
            reason = why(loaded.resolver, configuration, name.upper()) if name else None
            facts = normalise(loaded.matrix, msgspec.structs.replace(configuration, backend=None)).facts
            head = f"{title}{headline(facts=facts, verdict=_verdict(answer.selected))}"
            answers.append((answer, forced, reason, head))
    except ConfigurationError as error:
        for field, text in error.problems:
            complain(f"compatcheck select: --{field.replace('_', '-')}: {text}")
        sys.exit(USAGE)
    if format_ == "json":
        documents = [
            msgspec.to_builtins(a)
            | ({"forced": msgspec.to_builtins(f)} if f else {})
            | ({"why": msgspec.to_builtins(r)} if r else {})
            for a, f, r, _ in answers
        ]
        data: Any = documents[0] if len(documents) == 1 else documents
        sys.stdout.buffer.write(msgspec.json.format(msgspec.json.encode(data), indent=2) + b"\n")
    else:
        from compatcheck.report.selection_text import render
        from compatcheck.report.styled import line, write

        for index, (answer, forced, reason, title) in enumerate(answers):
            write(([line()] if index else []) + render(answer, reason, title, forced), sys.stdout)
    decided = [forced.accepted if forced else _picked(answer) for answer, forced, _, _ in answers]
    sys.exit(_worst([code, FINDINGS if False in decided else FINE, UNKNOWN if None in decided else FINE]))


def _picked(answer: SelectionAnswer) -> bool | None:
    """Return whether something is picked; None where a fact is missing to tell."""
    if answer.selected is not None:
        return True
    return None if answer.missing else False


def _worst(codes: list[int]) -> int:
    return next((code for code in (USAGE, FINDINGS, UNKNOWN) if code in codes), FINE)


def _known(loaded: LoadedMatrix, name: str) -> None:
    """Leave with exit code 2 for a backend that no release has."""
    from compatcheck.resolve.normalise import nearest

    known = {b for engine in loaded.matrix.engines.values() for b in (*engine.backends, *engine.mla_prefill_backends)}
    if name not in known:
        raise click.UsageError(f"--why: no release has a backend {name}.{nearest(name, sorted(known))}")


def _verdict(selected: str | None) -> Any:
    from compatcheck.resolve.verdict import Verdict

    return Verdict(verdict="supported", engine_accepts=True, selected=selected)


def _asked(
    loaded: LoadedMatrix,
    given: Configuration,
    command: tuple[str, ...],
    model: str | None,
    host_file: Path | None,
    *,
    use_host: bool,
) -> tuple[list[tuple[str, Configuration]], int]:
    """Return what to answer: one configuration for each GPU, and for a launch one for each kind of layer.

    The code is that of what the launch itself gets wrong, which is told on standard error.
    """
    if command or model is not None:
        from compatcheck.cli.launch_command import judge_words

        verdicts = judge_words(loaded, command, model, given, host_file, use_host=use_host, alternatives=False)
        code = _worst([_tell(verdict) for verdict, _ in verdicts])
        asked = [
            (f"{layer.kind}: " if len(verdict.layers) > 1 else "", layer.facts)
            for verdict, _ in verdicts
            for layer in verdict.layers
            if layer.facts is not None
        ]
        return asked, code
    if not use_host:
        return [("", given)], FINE
    from compatcheck.cli.host_facts import fill_from_host

    return [("", configuration) for configuration in fill_from_host(given, host_file)[0]], FINE


def _tell(verdict: LaunchVerdict) -> int:
    """Say what keeps a launch from getting as far as the selection, or leaves open what is selected."""
    launch = verdict.launch
    refused = [placed.finding for placed in launch.findings if placed.finding.effect == "unsupported"]
    for problem in launch.unreadable:
        click.echo(str(problem), err=True)
    for finding in refused:
        click.echo(f"compatcheck select: error[{finding.code}] {finding.message}", err=True)
    for name in launch.missing:
        click.echo(f"compatcheck select: not known: {name}", err=True)
    if launch.unreadable:
        return USAGE
    return FINDINGS if refused else (UNKNOWN if launch.missing else FINE)
