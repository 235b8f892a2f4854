"""compatcheck check: the verdict for one configuration, or for every line of a file."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from compatcheck.cli.answer import print_verdicts
from compatcheck.cli.complain import complain
from compatcheck.cli.exit_codes import UNKNOWN, USAGE, of_verdicts
from compatcheck.cli.options import configuration_options, given_configuration, load_matrix, matrix_options
from compatcheck.resolve.configuration import Configuration
from compatcheck.resolve.normalise import ConfigurationError, normalise
from compatcheck.resolve.verdict import Verdict

if TYPE_CHECKING:
    from compatcheck.matrix.load import LoadedMatrix

FORMATS = ("text", "json", "jsonl", "sarif", "github")


@click.command()
@configuration_options
@click.option(
    "--batch", type=click.Path(path_type=Path), help="One configuration a line (JSON); '-' reads standard input."
)
@click.option(
    "--alternatives/--no-alternatives", default=None, help="Look for what works instead (not in batches by default)."
)
@click.option("--host", "host_file", type=click.Path(path_type=Path), help="A host saved by `probe --format json`.")
@click.option("--no-host", is_flag=True, help="Take nothing from this machine.")
@click.option("--engine-words", is_flag=True, help="Print only what the engine itself would say.")
@click.option("--format", "format_", type=click.Choice(FORMATS), default=None, help="Default: text; jsonl for a batch.")
@click.option("--model", help="Model folder, config.json or Hugging Face id; instead of, or with, a launch command.")
@click.argument("command", nargs=-1, type=click.UNPROCESSED, metavar="[-- LAUNCH COMMAND]")
@matrix_options
def check(
    batch: Path | None,
    alternatives: bool | None,
    host_file: Path | None,
    no_host: bool,
    engine_words: bool,
    format_: str | None,
    model: str | None,
    command: tuple[str, ...],
    matrix_file: Path | None,
    overlays: tuple[Path, ...],
    **values: Any,
) -> None:
    """Say whether a configuration works: who refuses it, when, why, and what works instead.

    Without --backend: what would be selected, every candidate, and every rejection with its reasons. What is not
    given is taken from this host where it has it, else from the engine's defaults; the answer says which.

    After `--` a launch command may follow (vllm serve ..., docker run ...); options given before it win over it.
    """
    if engine_words and format_ in ("sarif", "github"):
        raise click.UsageError(f"--engine-words does not go with --format {format_}; text, json and jsonl have it.")
    given = given_configuration(values)
    loaded = load_matrix(matrix_file, overlays)
    if command or model is not None:
        if batch is not None:
            raise click.UsageError("a launch command or --model does not go with --batch.")
        from compatcheck.cli.check_launch import run_check

        judged_launches = (loaded, command, model, given, host_file)
        use_host = host_file is not None or not no_host
        wanted = alternatives is not False
        sys.exit(run_check(*judged_launches, format_ or "text", use_host=use_host, words=engine_words, wanted=wanted))
    if batch is not None:
        if host_file is not None or engine_words:
            raise click.UsageError(
                f"{'--host' if host_file is not None else '--engine-words'} does not go with --batch."
            )
        from compatcheck.cli.batch import run_batch

        sys.exit(run_batch(loaded, batch, given, format_ or "jsonl", alternatives=bool(alternatives)))
    configurations = [given]
    grounds: dict[str, str] = {}
    if host_file is not None or not no_host:
        from compatcheck.cli.host_facts import fill_from_host

        configurations, grounds = fill_from_host(given, host_file)
        if "sm" in grounds:
            configurations = _known_gpus(loaded, configurations)
    judged: list[tuple[Verdict, Configuration]] = []
    for configuration in configurations:
        try:
            normal = normalise(loaded.matrix, configuration)
            verdict = loaded.resolver.resolve(configuration, alternatives=alternatives is not False)
        except ConfigurationError as error:
            for field, text in error.problems:
                complain(f"compatcheck check: --{field.replace('_', '-')}: {text}")
            sys.exit(USAGE)
        judged.append((_with_grounds(verdict, normal.facts, grounds), normal.facts))
    if engine_words:
        from compatcheck.cli.answer import print_engine_words
        from compatcheck.report.engine_words import render as words

        print_engine_words([(v, words(loaded.matrix, v, facts)) for v, facts in judged], format_ or "text")
    else:
        print_verdicts(judged, format_ or "text")
    sys.exit(of_verdicts(verdict.verdict for verdict, _ in judged))


def _known_gpus(loaded: LoadedMatrix, configurations: list[Configuration]) -> list[Configuration]:
    """Leave out a host's GPUs of which the matrix has nothing, saying so. Ends with exit code 3 where none is left."""
    known = [c for c in configurations if c.sm in loaded.matrix.sms]
    for configuration in configurations:
        if configuration.sm not in loaded.matrix.sms:
            text = f"the matrix has nothing on this host's SM {configuration.sm}; --sm answers for another GPU"
            complain(f"compatcheck check: {text}")
    if not known:
        sys.exit(UNKNOWN)
    return known


def _with_grounds(verdict: Verdict, facts: Configuration, grounds: dict[str, str]) -> Verdict:
    """Add what came from the host to what was assumed."""
    if not grounds:
        return verdict
    import msgspec

    from compatcheck.resolve.verdict import Assumption

    told = tuple(Assumption(field, getattr(facts, field), ground) for field, ground in grounds.items())
    return msgspec.structs.replace(verdict, assumed=told + verdict.assumed)
