"""compatcheck docs: generate the pages, check them, fill regions, or say what changed between two releases."""

from __future__ import annotations

import gc
import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from compatcheck.cli.complain import complain
from compatcheck.cli.exit_codes import FINDINGS, FINE, USAGE
from compatcheck.cli.options import check_matrix, load_matrix, matrix_options
from compatcheck.cli.own_matrix import own_matrix

if TYPE_CHECKING:
    from compatcheck.docs.site import Site
    from compatcheck.matrix.load import Checks, LoadedMatrix


@click.command()
@click.argument("files", nargs=-1, type=click.Path(path_type=Path))
@click.option("--check", is_flag=True, help="Write nothing: print a diff and exit 1 where something is not current.")
@click.option(
    "--since", metavar="RELEASE", help="Print what changed from this engine release to the newest (or --until)."
)
@click.option("--until", metavar="RELEASE", help="With --since: up to this release.")
@click.option(
    "--templates", type=click.Path(path_type=Path), help="Templates that replace the packaged ones of the same name."
)
@click.option(
    "--output", type=click.Path(path_type=Path), default=Path("docs"), show_default=True, help="Where the pages go."
)
@matrix_options
def docs(
    files: tuple[Path, ...],
    check: bool,
    since: str | None,
    until: str | None,
    templates: Path | None,
    output: Path,
    matrix_file: Path | None,
    overlays: tuple[Path, ...],
) -> int:
    """Generate docs/ from the matrix; with FILES, fill the compatcheck regions of these Markdown files instead.

    The matrix is ./matrix.yaml where there is one, else the packaged one, unless --matrix says otherwise.

    Exit codes: 0 current or written without a change, 1 something was or would be changed, 2 cannot be done.
    """
    from compatcheck.docs.compiling import Compiling
    from compatcheck.docs.environment import DocsError, templates_folder

    if until and not since:
        raise click.UsageError("--until needs --since")
    if since and (files or check):
        raise click.UsageError("--since prints to the terminal; it goes with neither FILES nor --check")
    try:
        if files:
            asked = _options(None, output, matrix_file, overlays)
            return _regions(files, check, lambda: load_matrix(matrix_file or own_matrix(), overlays), output, asked)
        if not since and output.exists() and not output.is_dir():
            raise DocsError(f"{output}: is no folder; give another --output")
        templates_folder(templates)
        with Compiling(templates) as compiling:
            # What is asked for the first time is compiled as a whole, here; of what is kept, little is.
            checks: Checks = "rules" if compiling.first else "everything"
            loaded = load_matrix(matrix_file or own_matrix(), overlays, aside=None if since else checks)
            if since:
                return _changes(loaded, since, until, templates, output)
            asked = _options(templates, output, matrix_file, overlays)
            return _pages(loaded, check, templates, output, compiling.wait, asked)
    except DocsError as error:
        complain(str(error), lines=True)
        return USAGE


def _pages(
    loaded: LoadedMatrix,
    check: bool,
    templates: Path | None,
    output: Path,
    compiled: Callable[[], None],
    asked: str,
) -> int:
    from compatcheck.docs import current, render

    digest = current.inputs_digest(loaded, output, templates)
    if current.known_current(digest, output):
        check_matrix(loaded)
        complain(f"{output}: current")
        return FINE
    # The process ends soon, and collecting the many small tuples of the grid costs more than their memory.
    gc.disable()
    try:
        files = render.render_all(loaded, output, templates, compiled)
    except Exception:
        check_matrix(loaded)  # what is wrong with the matrix explains it better
        raise
    differences = render.compare(files, output) if check else render.write(files, output)
    current.remember(digest, files)
    if not differences:
        complain(f"{output}: current, {len(files)} files")
        return FINE
    for difference in differences if check else ():
        sys.stdout.write(difference.diff)
    for difference in differences[:_NAMED]:
        complain(f"{difference.path}: {difference.state}" + ("" if check else ", now mended"))
    if len(differences) > _NAMED:
        complain(f"and {len(differences) - _NAMED} more")
    if check:
        click.echo(
            f"{len(differences)} of {len(files)} files differ. Mend: compatcheck docs{asked}",
            err=True,
        )
    return FINDINGS


_NAMED = 20
"""Files that are named one by one; the diff has them all."""


def _options(templates: Path | None, output: Path, matrix_file: Path | None, overlays: tuple[Path, ...]) -> str:
    """Return what has to be given again for the same pages."""
    given = [("--matrix", matrix_file), *(("--overlay", overlay) for overlay in overlays), ("--templates", templates)]
    given += [("--output", output if output != Path("docs") else None)]
    return "".join(f" {option} {shlex.quote(str(path))}" for option, path in given if path is not None)


def _regions(files: tuple[Path, ...], check: bool, load: Callable[[], LoadedMatrix], output: Path, asked: str) -> int:
    import difflib

    from compatcheck.docs.environment import DocsError
    from compatcheck.docs.files import read_text, write_text
    from compatcheck.docs.regions import fill, has_regions

    made: list[Any] = []

    def site() -> Site:
        if not made:
            from compatcheck.docs.site import Site

            made.append(Site(load(), output))
        found: Site = made[0]
        return found

    changed: list[Path] = []
    errors: list[DocsError] = []
    for path in files:
        try:
            if not has_regions(path):
                continue
            old = read_text(path)
            new = fill(old, str(path), site)
        except DocsError as error:
            errors.append(error)
            continue
        if new == old:
            continue
        changed.append(path)
        if check:
            lines = (old.splitlines(keepends=True), new.splitlines(keepends=True))
            sys.stdout.writelines(difflib.unified_diff(*lines, f"{path} (on disk)", f"{path} (from the matrix)", n=2))
        else:
            write_text(path, new)
        complain(f"{path}: {'regions out of date' if check else 'regions filled'}")
    for problem in errors:
        complain(str(problem), lines=True)
    if errors:
        return USAGE
    if changed and check:
        complain(f"Mend: compatcheck docs{asked} {' '.join(shlex.quote(str(path)) for path in changed)}")
    return FINDINGS if changed else FINE


def _changes(loaded: LoadedMatrix, since: str, until: str | None, templates: Path | None, output: Path) -> int:
    from compatcheck.docs.environment import DocsError, environment, render
    from compatcheck.docs.pages.changes import between
    from compatcheck.docs.site import Site

    site = Site(loaded, output)
    known = site.grid.releases
    new = until or site.grid.newest
    for release in (since, new):
        if release not in known:
            raise DocsError(f"{release} is not a release in the matrix; there are: {', '.join(known)}")
    if known.index(since) >= known.index(new):
        raise DocsError(f"{since} is not older than {new}")
    click.echo(render(environment(templates), "changes.md.j2", between(site, since, new)), nl=False)
    return FINE
