"""compatcheck select: which backend a release picks, in which order it tries them, and why not another."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from compatcheck.cli.complain import complain
from compatcheck.cli.exit_codes import FINDINGS, FINE, UNKNOWN, USAGE
from compatcheck.cli.options import configuration_options, given_configuration, load_matrix, matrix_options
from compatcheck.resolve.normalise import ConfigurationError, normalise


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

    MLA models select prefill and decode apart; both are shown. After `--` a launch command may follow.
    """
    import msgspec

    from compatcheck.report.verdict_text import headline
    from compatcheck.resolve.selection import explain_selection, why

    given = given_configuration(values)
    loaded = load_matrix(matrix_file, overlays)
    use_host = host_file is not None or not no_host
    try:
        asked = _asked(loaded, given, command, model, host_file, use_host=use_host)
        answers = []
        for title, configuration in asked:
            answer = explain_selection(loaded.resolver, configuration)
            reason = why(loaded.resolver, configuration, name.upper()) if name else None
            facts = normalise(loaded.matrix, msgspec.structs.replace(configuration, backend=None)).facts
            answers.append((answer, reason, f"{title}{headline(facts=facts, verdict=_verdict(answer.selected))}"))
    except ConfigurationError as error:
        for field, text in error.problems:
            complain(f"compatcheck select: --{field.replace('_', '-')}: {text}")
        sys.exit(USAGE)
    if format_ == "json":
        documents = [msgspec.to_builtins(a) | ({"why": msgspec.to_builtins(r)} if r else {}) for a, r, _ in answers]
        data: Any = documents[0] if len(documents) == 1 else documents
        sys.stdout.buffer.write(msgspec.json.format(msgspec.json.encode(data), indent=2) + b"\n")
    else:
        from compatcheck.report.selection_text import render
        from compatcheck.report.styled import line, write

        for index, (answer, reason, title) in enumerate(answers):
            write(([line()] if index else []) + render(answer, reason, title), sys.stdout)
    picks = [(a.selected, a.missing) for a, _, _ in answers]
    if any(selected is None and not missing for selected, missing in picks):
        sys.exit(FINDINGS)
    sys.exit(UNKNOWN if any(selected is None for selected, _ in picks) else FINE)


def _verdict(selected: str | None) -> Any:
    from compatcheck.resolve.verdict import Verdict

    return Verdict(verdict="supported", engine_accepts=True, selected=selected)


def _asked(
    loaded: Any, given: Any, command: tuple[str, ...], model: str | None, host_file: Path | None, *, use_host: bool
) -> list[tuple[str, Any]]:
    """Return what to answer: one configuration for each GPU, and for a launch one for each kind of layer."""
    if command or model is not None:
        from compatcheck.cli.launch_command import judge_words

        verdicts = judge_words(loaded, command, model, given, host_file, use_host=use_host, alternatives=False)
        return [
            (f"{layer.kind}: " if len(verdict.layers) > 1 else "", layer.facts)
            for verdict, _ in verdicts
            for layer in verdict.layers
            if layer.facts is not None
        ]
    if not use_host:
        return [("", given)]
    from compatcheck.cli.host_facts import fill_from_host

    return [("", configuration) for configuration in fill_from_host(given, host_file)[0]]
