"""compatcheck probe: what a host has, what is wrong with it, and what works on it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec

from compatcheck.cli.complain import complain
from compatcheck.cli.exit_codes import FINDINGS, FINE, USAGE
from compatcheck.cli.options import load_matrix, matrix_options

if TYPE_CHECKING:
    from compatcheck.host.model import Host
    from compatcheck.matrix.load import LoadedMatrix
    from compatcheck.probe.linear import LinearPick
    from compatcheck.probe.support import SupportTable
    from compatcheck.resolve.configuration import Configuration


@click.command()
@click.option("--format", "format_", type=click.Choice(["text", "json"]), default="text", help="Default: text.")
@click.option("--host", "host_file", type=click.Path(path_type=Path), help="A host saved by --format json elsewhere.")
@click.option("--python", "python", type=click.Path(path_type=Path), help="Look at this interpreter's packages.")
@click.option("--sm", "--gpu", "sms", multiple=True, help='Answer for this compute capability or GPU ("H200") instead.')
@click.option("--vllm", "--engine-version", "engine_version", help="Answer for this vLLM release.")
@click.option("--flashinfer", "--flashinfer-version", "flashinfer_version", help="Answer for this FlashInfer.")
@click.option("--head-size", type=click.IntRange(min=1), default=128, show_default=True, help="Head size of the table.")
@matrix_options
def probe(
    format_: str,
    host_file: Path | None,
    python: Path | None,
    sms: tuple[str, ...],
    engine_version: str | None,
    flashinfer_version: str | None,
    head_size: int,
    matrix_file: Path | None,
    overlays: tuple[Path, ...],
) -> None:
    """Show GPUs, driver, toolkit and packages, problems with a fix each, and what works on each distinct GPU.

    Nothing is imported from torch, flashinfer or vllm. Exit code 1 where a problem is an error.
    """
    from compatcheck.host.problems import diagnose
    from compatcheck.resolve.normalise import ConfigurationError

    loaded = load_matrix(matrix_file, overlays)
    host = _host(host_file, python)
    problems = diagnose(host)
    try:
        tables = _tables(loaded, host, sms, engine_version, flashinfer_version, head_size)
        linear = _linear(loaded, tables, None if engine_version else host)
    except ConfigurationError as error:
        for field, text in error.problems:
            complain(f"compatcheck probe: --{field.replace('_', '-')}: {text}")
        sys.exit(USAGE)
    if format_ == "json":
        document = {
            "document": "compatcheck-probe",
            "schema": 1,
            "host": host,
            "problems": problems,
            "support": tables,
            "linear": [pick for picks in linear for pick in picks],
        }
        sys.stdout.buffer.write(msgspec.json.format(msgspec.json.encode(document), indent=2) + b"\n")
    else:
        from compatcheck.host.summary import summary_lines
        from compatcheck.report.styled import line, write
        from compatcheck.report.support_text import render, render_linear

        lines = [line(text) for text in summary_lines(host, problems)]
        for table in tables:
            lines += [line(), *render(table)]
        for picks in linear:
            lines += [line(), *render_linear(picks)]
        write(lines, sys.stdout)
    sys.exit(FINDINGS if any(problem.severity == "error" for problem in problems) else FINE)


def _host(host_file: Path | None, python: Path | None) -> Host:
    from compatcheck.cli.host_facts import read_host

    if host_file is not None or python is None:
        return read_host(host_file)
    from compatcheck.host import collect
    from compatcheck.host.interpreter import InterpreterError, ask_interpreter

    try:
        other = ask_interpreter(python)
    except InterpreterError as error:
        complain(f"compatcheck probe: {error}")
        sys.exit(USAGE)
    return collect(site_paths=other.site_paths, python=other.version)


def _tables(
    loaded: LoadedMatrix,
    host: Host,
    sms: tuple[str, ...],
    engine_version: str | None,
    flashinfer_version: str | None,
    head_size: int,
) -> list[SupportTable]:
    from compatcheck.cli.host_facts import versions_of
    from compatcheck.probe.support import support
    from compatcheck.resolve.configuration import Configuration

    given: dict[str, Any] = {"engine_version": engine_version, "flashinfer_version": flashinfer_version}
    base = Configuration(**{name: value for name, value in given.items() if value})
    if engine_version is None:
        base = msgspec.structs.replace(base, **versions_of(base, host))
    for sm in [] if sms else host.sms():
        if sm not in loaded.matrix.sms:
            complain(f"compatcheck probe: the matrix has nothing on SM {sm}; no table for it")
    wanted = sms or [sm for sm in host.sms() if sm in loaded.matrix.sms]
    configurations = [msgspec.structs.replace(base, sm=sm, head_size=head_size) for sm in wanted]
    return [support(loaded, c, mla=mla) for c in _distinct(loaded, configurations) for mla in (False, True)]


def _linear(loaded: LoadedMatrix, tables: list[SupportTable], host: Host | None) -> list[tuple[LinearPick, ...]]:
    """Return the kernels of NVFP4 linear layers for each GPU and the versions that the tables are about.

    A host's toolkit and optional packages decide too, where its own versions are asked about.
    """
    from compatcheck.cli.host_facts import linear_packages, versions_of
    from compatcheck.probe.linear import linear_picks
    from compatcheck.resolve.configuration import Configuration

    about = dict.fromkeys((table.sm, table.engine_version, table.flashinfer_version) for table in tables)
    has: dict[str, Any] = {}
    if host is not None:
        found = versions_of(Configuration(), host) | linear_packages(Configuration(), host)
        has = {field: value for field, value in found.items() if field not in ("engine_version", "flashinfer_version")}
    asked = (
        Configuration(
            sm=sm, engine_version=v, flashinfer_version=fi, **{"has_flashinfer": None if fi else False, **has}
        )
        for sm, v, fi in about
    )
    return [picks for picks in (linear_picks(loaded, one) for one in asked) if picks]


def _distinct(loaded: LoadedMatrix, configurations: list[Configuration]) -> list[Configuration]:
    """Return one configuration per compute capability, whatever it was called; none for an older GPU, saying so."""
    from compatcheck.resolve.normalise import normalise

    found = {str(normalise(loaded.matrix, c).facts.sm): c for c in configurations}
    for sm in found.keys() - loaded.matrix.sms.keys():
        complain(f"compatcheck probe: the matrix has nothing on SM {sm}; no table for it")
    return [configuration for sm, configuration in found.items() if sm in loaded.matrix.sms]
