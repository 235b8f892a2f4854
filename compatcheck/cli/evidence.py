"""compatcheck evidence: compare, merge or judge again the evidence files of smoke runs."""

from __future__ import annotations

import sys
from pathlib import Path

import click

_FILE = click.Path(dir_okay=False, path_type=Path)


@click.group()
def evidence() -> None:
    """Compare, merge or judge again the evidence files of smoke runs."""


@evidence.command()
@click.argument("before", type=_FILE)
@click.argument("after", type=_FILE)
@click.option("--format", "format_", type=click.Choice(["text", "json"]), default="text", show_default=True)
def diff(before: Path, after: Path, format_: str) -> None:
    """Show what changed between two runs: versions, GPUs or days.

    Exit codes: 0 every common cell has the same outcome, 1 one differs, 2 a file cannot be read.
    """
    from compatcheck.smoke.command import evidence_diff

    sys.exit(evidence_diff(before, after, format_))


@evidence.command()
@click.argument("parts", nargs=-1, required=True, type=_FILE)
@click.option("--output", "-o", required=True, type=_FILE, help="Where the merged evidence is written.")
def merge(parts: tuple[Path, ...], output: Path) -> None:
    """Join several partial runs that were made with the same GPU, driver and versions.

    Exit codes: 0 written, 2 a file cannot be read or was made elsewhere, 4 the output cannot be written.
    """
    from compatcheck.smoke.command import evidence_merge

    sys.exit(evidence_merge(parts, output))


@evidence.command()
@click.argument("file", type=_FILE)
@click.option("--output", "-o", required=True, type=_FILE, help="Where the judged evidence is written.")
@click.option("--matrix", type=_FILE, help="Another matrix than the packaged one.")
@click.option("--overlay", "overlays", multiple=True, type=_FILE, help="Merged over the matrix.")
def judge(file: Path, output: Path, matrix: Path | None, overlays: tuple[Path, ...]) -> None:
    """Compare what a GPU did with the matrix as it is now, without running anything.

    Exit codes: 0 nothing contradicts the matrix, 1 something does, 2 a file cannot be read, 4 not written.
    """
    from compatcheck.smoke.command import evidence_judge

    sys.exit(evidence_judge(file, output, matrix, overlays))
