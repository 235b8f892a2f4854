"""compatcheck explain: a rule by its code, a kernel by its id, or whatever an error text pasted from a log fits."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from compatcheck.cli.exit_codes import FINDINGS
from compatcheck.cli.options import load_matrix, matrix_options


@click.command()
@click.argument("what", nargs=-1, required=True, metavar="CODE | CELL | ERROR TEXT")
@click.option("--format", "format_", type=click.Choice(["text", "json"]), default="text", help="Default: text.")
@click.option("--limit", type=click.IntRange(1, 50), default=5, show_default=True, help="Matches to show.")
@click.option(
    "--vllm", "--engine-version", "engine_version", help="A backend's facts at this release; else the newest."
)
@matrix_options
def explain(
    what: tuple[str, ...],
    format_: str,
    limit: int,
    engine_version: str | None,
    matrix_file: Path | None,
    overlays: tuple[Path, ...],
) -> None:
    """Explain a rule, a kernel, a backend, or an error text pasted from a log ('-' reads it from standard input).

    A code or id shows that entry: why, history, fix, sources; so does a cell's id as `compatcheck smoke --list` prints
    it, or a heading of the docs (kernels.md#...). Any other text is matched against the words of every refusal in the
    matrix; the best match comes first. Exit code 1 where nothing matches.
    """
    from compatcheck.explain.cell import explain_cell
    from compatcheck.explain.entries import entries
    from compatcheck.explain.match import Match, find, suggest
    from compatcheck.report import explain_text

    text = " ".join(what)
    if text == "-":
        text = sys.stdin.buffer.read().decode("utf-8", "replace")
    loaded = load_matrix(matrix_file, overlays)
    index = entries(loaded, engine_version)
    cell = explain_cell(loaded, text)
    matches = [Match(score=1.0, how="cell id", entry=cell)] if cell is not None else find(index, text, limit)
    near = [] if matches else suggest(index, text)
    if format_ == "json":
        import msgspec

        document = {"schema": 1, "query": text, "matches": matches, **({"did_you_mean": near} if near else {})}
        sys.stdout.buffer.write(msgspec.json.format(msgspec.json.encode(document), indent=2) + b"\n")
    elif matches:
        from compatcheck.report.styled import write

        write(explain_text.render(matches), sys.stdout)
    else:
        hint = f" Did you mean {' or '.join(near)}?" if near else ""
        click.echo(f"Nothing in the matrix has these words.{hint} `compatcheck matrix --format json` lists every code.")
    sys.exit(0 if matches else FINDINGS)
