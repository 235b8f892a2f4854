"""compatcheck lint: everything that is wrong with a matrix file and its overlays, each with its place."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from compatcheck.cli.exit_codes import FINDINGS, FINE, USAGE
from compatcheck.cli.own_matrix import matrix_first

if TYPE_CHECKING:
    from compatcheck.matrix.errors import Problem


@click.command()
@click.argument("files", nargs=-1, metavar="[FILE]...", type=click.Path(path_type=Path))
@click.option(
    "--format",
    "format_",
    type=click.Choice(["text", "json", "sarif", "github"]),
    default="text",
    help="Default: text, one line a problem.",
)
def lint(files: tuple[Path, ...], format_: str) -> None:
    """Check a matrix and the overlays that are merged over it.

    The first FILE that states `schema` is the matrix, the others are overlays. Where none does, they are overlays of
    ./matrix.yaml if there is one, else of the packaged matrix; no FILE at all is the packaged matrix. All problems are
    reported at once, with file, line and column.

    Exit codes: 0 nothing but warnings, 1 errors, 2 a file that cannot be read or is not YAML (duplicate keys, tags and
    aliases count as that).
    """
    from compatcheck.matrix.lint import READ_CODES, lint_files
    from compatcheck.matrix.load import default_path

    paths = matrix_first(list(files)) or [_shown(default_path())]
    problems = lint_files(paths)
    if format_ == "text":
        _text(problems, paths)
    elif format_ == "json":
        _json(problems, paths)
    else:
        _diagnostics(problems, format_)
    errors = [problem for problem in problems if problem.severity == "error"]
    unreadable = any(problem.code in READ_CODES for problem in errors)
    sys.exit(USAGE if unreadable else FINDINGS if errors else FINE)


def _shown(path: Path) -> Path:
    """Return a path relative to the working directory where it lies inside of it."""
    try:
        return path.relative_to(Path.cwd())
    except (ValueError, OSError):
        return path


def _count(problems: list[Problem]) -> tuple[int, int]:
    errors = sum(problem.severity == "error" for problem in problems)
    return errors, len(problems) - errors


def _text(problems: list[Problem], paths: list[Path]) -> None:
    from compatcheck.report.styled import Line, line, write

    lines: list[Line] = []
    for problem in problems:
        place = f"{problem.file}:{problem.line}:{problem.column}" if problem.line else problem.file
        parts = ((f"{place}: ", ""), (f"{problem.severity}: ", problem.severity), (problem.message, ""))
        lines.append(Line((*parts, (f" [{problem.code}]", "dim"))))
    errors, warnings = _count(problems)
    names = ", ".join(str(path) for path in paths)
    if problems:
        lines.append(
            line(f"{errors} error{'s' * (errors != 1)}, {warnings} warning{'s' * (warnings != 1)} in {names}.")
        )
    else:
        lines.append(line(f"No problems in {names}."))
    write(lines, sys.stdout)


def _json(problems: list[Problem], paths: list[Path]) -> None:
    import msgspec

    errors, warnings = _count(problems)
    document = {
        "schema": 1,
        "files": [str(path) for path in paths],
        "errors": errors,
        "warnings": warnings,
        "problems": problems,
    }
    click.echo(msgspec.json.format(msgspec.json.encode(document), indent=2).decode())


def _diagnostics(problems: list[Problem], format_: str) -> None:
    from compatcheck.report import github, sarif
    from compatcheck.report.diagnostic import Diagnostic

    found = [
        Diagnostic(
            code=problem.code,
            level=problem.severity,
            message=problem.message,
            file=problem.file,
            line=problem.line or None,
            column=problem.column or None,
        )
        for problem in problems
    ]
    click.echo(github.render(found) if format_ == "github" else sarif.render(found).decode(), nl=False)
