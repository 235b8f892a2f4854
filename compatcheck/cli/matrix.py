"""compatcheck matrix: the resolved matrix, for other programs."""

from __future__ import annotations

import sys
from pathlib import Path

import click
import msgspec

from compatcheck.cli.options import load_matrix, matrix_options


@click.command()
@click.option("--format", "format_", type=click.Choice(["json", "text"]), default="text", help="Default: text.")
@matrix_options
def matrix(format_: str, matrix_file: Path | None, overlays: tuple[Path, ...]) -> None:
    """Print the matrix: everything as JSON, or what it holds in a few lines."""
    loaded = load_matrix(matrix_file, overlays)
    if format_ == "json":
        document = {"schema": 1, "digest": loaded.digest, "matrix": loaded.matrix, "lines": loaded.lines}
        sys.stdout.buffer.write(msgspec.json.encode(document) + b"\n")
        return
    data = loaded.matrix
    click.echo(f"digest        {loaded.digest}")
    click.echo(f"SMs           {', '.join(data.sms)}")
    click.echo(f"KV dtypes     {', '.join(data.kv_cache_dtypes)}")
    for name, engine in data.engines.items():
        releases = list(engine.releases)
        click.echo(f"{name:<14}{releases[0]} to {releases[-1]}, {len(engine.backends)} backends")
    click.echo(f"kernels       {len(data.kernels)}")
    click.echo(f"rules         {len(data.rules)}")
