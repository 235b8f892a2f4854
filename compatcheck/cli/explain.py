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
@matrix_options
def explain(
    what: tuple[str, ...], format_: str, limit: int, matrix_file: Path | None, overlays: tuple[Path, ...]
) -> None:
    """Explain a rule, a kernel, a backend, or an error text pasted from a log ('-' reads it from standard input).

    A code or id shows that entry: why, history, fix, sources. Any other text is matched against the words of every
    refusal in the matrix; the best match comes first. Exit code 1 where nothing matches.
    """
    from compatcheck.explain.entries import entries
    from compatcheck.explain.match import find
    from compatcheck.report import explain_text

    text = " ".join(what)
    if text == "-":
        text = sys.stdin.buffer.read().decode("utf-8", "replace")
    loaded = load_matrix(matrix_file, overlays)
    index = entries(loaded)
    matches = find(index, text, limit)
    if format_ == "json":
        import msgspec

        document = {"schema": 1, "query": text, "matches": matches}
        sys.stdout.buffer.write(msgspec.json.format(msgspec.json.encode(document), indent=2) + b"\n")
    elif matches:
        from compatcheck.report.styled import write

        write(explain_text.render(matches), sys.stdout)
    else:
        click.echo("Nothing in the matrix has these words. `compatcheck matrix --format json` lists every code.")
    sys.exit(0 if matches else FINDINGS)
