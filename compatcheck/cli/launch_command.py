"""The launch behind `--`: a command line, or the model folder of --model, read for `check` and `select`."""

from __future__ import annotations

import sys
from functools import partial
from typing import TYPE_CHECKING, Any

import click
import msgspec

from compatcheck.cli.complain import complain
from compatcheck.cli.exit_codes import USAGE
from compatcheck.resolve.configuration import Configuration
from compatcheck.resolve.normalise import ConfigurationError

if TYPE_CHECKING:
    from pathlib import Path

    from compatcheck.launch.judge import LaunchVerdict
    from compatcheck.launch.model import Launch
    from compatcheck.matrix.load import LoadedMatrix


def read_words(words: tuple[str, ...], model: str | None) -> Launch:
    """Return the launch that the words after `--` are. Leaves with exit code 2 where they are none."""
    from compatcheck.launch.command_line import find_launches, launches_in_script
    from compatcheck.launch.help_request import asks_help_of_vllm
    from compatcheck.launch.installed_release import pinned_version, with_version
    from compatcheck.launch.model import Launch, Word

    if not words:
        return Launch(program="vllm serve", words=(Word(model or ""),), directory=".")
    if len(words) == 1 and any(space in words[0] for space in " \n\t"):
        found = launches_in_script(words[0])
    else:
        column = 1
        placed: list[Word] = []
        for text in words:
            placed.append(Word(text, 1, column))
            column += len(text) + 1
        found = [with_version(launch, pinned_version(placed)) for launch in find_launches(placed)]
    if not found and asks_help_of_vllm([word for text in words for word in text.split()]):
        raise click.UsageError("the words after -- ask for vLLM's help and start nothing: there is no launch to judge.")
    if not found:
        raise click.UsageError(
            "found no launch of vLLM in the words after --; expected something like: "
            "-- vllm serve MODEL --kv-cache-dtype fp8"
        )
    if len(found) > 1:
        complain(f"compatcheck: {len(found)} launches after --; the first is checked")
    return msgspec.structs.replace(found[0], directory=".")


def judge_words(
    loaded: LoadedMatrix,
    words: tuple[str, ...],
    model: str | None,
    given: Configuration,
    host_file: Path | None,
    *,
    use_host: bool,
    alternatives: bool,
) -> list[tuple[LaunchVerdict, dict[str, str]]]:
    """Return one verdict for each GPU, and what came from the host. Leaves with exit code 2 for unusable options."""
    from compatcheck.launch.facts import read_changed, read_launch
    from compatcheck.launch.judge import judge_launch
    from compatcheck.launch.model_memory import ModelMemory
    from compatcheck.launch.model_source import ModelError, expect_model

    if model is not None:
        try:
            expect_model(model)
        except ModelError as error:
            click.echo(str(error), err=True)
            sys.exit(USAGE)
    launch = read_words(words, model)
    memory = ModelMemory()
    first = read_launch(loaded.matrix, launch, given, model=model, memory=memory)
    configurations = [given]
    grounds: dict[str, str] = {}
    if use_host:
        in_image = launch.image is not None
        configurations, grounds = _from_host(given, first.configuration, in_image=in_image, file=host_file)
    answers: list[tuple[LaunchVerdict, dict[str, str]]] = []
    for configuration in configurations:
        facts = read_launch(loaded.matrix, launch, configuration, model=model, memory=memory)
        try:
            change = partial(read_changed, loaded.matrix, launch, configuration, model=model, memory=memory)
            answers.append((judge_launch(loaded, facts, reread=change if alternatives else None), grounds))
        except ConfigurationError as error:
            for field, text in error.problems:
                complain(f"compatcheck: --{field.replace('_', '-')}: {text}")
            sys.exit(USAGE)
    return answers


def _from_host(
    given: Configuration, launch: Configuration, *, in_image: bool, file: Path | None
) -> tuple[list[Configuration], dict[str, str]]:
    """Fill GPU and versions from the host where neither the user nor the launch says them.

    A container brings its own packages, so of the host only the GPU counts for it.
    """
    from compatcheck.cli.host_facts import fill_from_host

    known = {f: getattr(launch, f) for f in ("sm", "engine_version") if getattr(launch, f) is not None}
    if in_image and "engine_version" not in known:
        known["engine_version"] = "0"  # any version: the host's packages are not the container's
    probe = msgspec.structs.replace(given, **{f: v for f, v in known.items() if getattr(given, f) is None})
    filled, grounds = fill_from_host(probe, file)
    wanted = {name: ground for name, ground in grounds.items() if name not in known}
    configurations = [
        msgspec.structs.replace(given, **{name: getattr(configuration, name) for name in wanted})
        for configuration in filled
    ]
    return configurations, wanted


def document_of(verdict: LaunchVerdict) -> dict[str, Any]:
    """Return a launch's answer for programs: the lead's keys, then `layers`, `linear_layers` and `launch`."""
    lead: dict[str, Any] = msgspec.to_builtins(verdict.lead)
    lead["findings"] = msgspec.to_builtins(verdict.findings)
    lead["layers"] = [
        {
            "kind": layer.kind,
            "count": layer.count,
            "verdict": layer.verdict.verdict if layer.verdict else None,
            "selected": layer.verdict.selected if layer.verdict else None,
            "codes": sorted({f.code for f in layer.verdict.findings}) if layer.verdict else [],
        }
        for layer in verdict.layers
    ]
    lead["linear_layers"] = [
        {
            "layers": one.layers.names,
            "scheme": one.layers.scheme,
            "in_features": one.layers.in_features,
            "out_features": one.layers.out_features,
            "verdict": one.verdict.verdict,
            "selected": one.verdict.selected,
            "codes": sorted({f.code for f in one.verdict.findings}),
        }
        for one in verdict.linear
    ]
    lead["launch"] = {
        "model": verdict.launch.model,
        "release": verdict.launch.release,
        "options": msgspec.to_builtins(verdict.launch.reports),
    }
    return lead
