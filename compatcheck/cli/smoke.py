"""compatcheck smoke: run kernel cells on the local GPU and compare what they do with the matrix."""

from __future__ import annotations

import math
import sys
from pathlib import Path
from typing import Any

import click

_LEVELS = ["import", "compile", "launch", "correct", "graph"]


def _shard(ctx: click.Context, param: click.Parameter, value: str | None) -> tuple[int, int] | None:
    if value is None:
        return None
    index, _, count = value.partition("/")
    if not (index.isdecimal() and count.isdecimal() and 1 <= int(index) <= int(count)):
        raise click.BadParameter("expected I/N with 1 <= I <= N, such as 2/4")
    return int(index) - 1, int(count)


class _Seconds(click.FloatRange):
    """At least one second; 'nan' is no number of seconds, and 'inf' cannot be waited for."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        seconds = float(super().convert(value, param, ctx))
        if not math.isfinite(seconds):
            self.fail(f"{value!r} is not a number of seconds", param, ctx)
        return seconds


_SECONDS = _Seconds(min=1)


@click.command()
@click.option("--list", "list_only", is_flag=True, help="Show the cells and what the matrix expects; run nothing.")
@click.option("--only", multiple=True, metavar="GLOB", help="Only cells whose id matches; may be repeated.")
@click.option("--skip", multiple=True, metavar="GLOB", help="Not these cells; may be repeated.")
@click.option("--shard", metavar="I/N", callback=_shard, help="The I-th of N parts, for several machines.")
@click.option(
    "--level",
    type=click.Choice(_LEVELS),
    default="correct",
    show_default=True,
    help="How far to take each cell; each level includes the ones before it.",
)
@click.option("--sm", metavar="SM", help="Test for this compute capability; without such a GPU up to --level compile.")
@click.option("--timeout", type=_SECONDS, default=60.0, show_default=True, help="Seconds for a cell.")
@click.option(
    "--compile-timeout",
    type=_SECONDS,
    default=900.0,
    show_default=True,
    help="Seconds for the build of one module.",
)
@click.option("--budget", type=_SECONDS, help="Stop after this many seconds; --resume does the rest.")
@click.option("--jobs", type=click.IntRange(min=1), help="Compilers at once. Default: by cores and free memory.")
@click.option(
    "--record", type=click.Path(dir_okay=False, path_type=Path), help="Where results are appended as they come (JSONL)."
)
@click.option("--resume", is_flag=True, help="Continue the record: run only what is not in it yet.")
@click.option("--evidence", type=click.Path(dir_okay=False, path_type=Path), help="Write the evidence (JSON) here.")
@click.option("--junit", type=click.Path(dir_okay=False, path_type=Path), help="Write JUnit XML here.")
@click.option(
    "--rerun/--no-rerun",
    default=True,
    help="Run an unexpected failure once more, alone in a fresh process. Without it, a later --resume does.",
)
@click.option("--matrix", type=click.Path(dir_okay=False, path_type=Path), help="Another matrix.")
@click.option(
    "--overlay",
    "overlays",
    multiple=True,
    type=click.Path(dir_okay=False, path_type=Path),
    help="Merged over it.",
)
@click.option("--format", "format_", type=click.Choice(["text", "json"]), default="text", show_default=True)
@click.option("--quiet", is_flag=True, help="No progress on stderr.")
def smoke(
    list_only: bool,
    only: tuple[str, ...],
    skip: tuple[str, ...],
    shard: tuple[int, int] | None,
    level: str,
    sm: str | None,
    timeout: float,
    compile_timeout: float,
    budget: float | None,
    jobs: int | None,
    record: Path | None,
    resume: bool,
    evidence: Path | None,
    junit: Path | None,
    rerun: bool,
    matrix: Path | None,
    overlays: tuple[Path, ...],
    format_: str,
    quiet: bool,
) -> None:
    """Run every kernel cell that the matrix declares for the local GPU, and every declared refusal.

    Each cell runs in a worker process: a crash or hang costs that cell only. A failure is believed when a fresh process
    shows it again. What contradicts the matrix is printed with a proposed change to it. Without a GPU nothing is
    claimed; torch's own kernels and the reference quantiser still run on the CPU.

    Exit codes: 0 nothing contradicts the matrix, 1 something does, 2 usage or unreadable input, 4 internal error.
    """
    from compatcheck.smoke.command import run_smoke
    from compatcheck.smoke.options import SmokeOptions

    options = SmokeOptions(
        level=level,
        sm=sm,
        only=only,
        skip=skip,
        shard=shard,
        list_only=list_only,
        timeout=timeout,
        compile_timeout=compile_timeout,
        budget=budget,
        jobs=jobs,
        record=record,
        resume=resume,
        evidence=evidence,
        junit=junit,
        matrix=matrix,
        overlays=overlays,
        quiet=quiet,
        format=format_,
        rerun=rerun,
    )
    sys.exit(run_smoke(options))
