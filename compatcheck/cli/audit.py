"""compatcheck audit: what a release's own code says, compared with the matrix."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import click

from compatcheck.cli.exit_codes import FINDINGS, FINE, INTERNAL, UNKNOWN, USAGE
from compatcheck.cli.options import load_matrix, matrix_options

if TYPE_CHECKING:
    from compatcheck.audit.difference import Audit
    from compatcheck.audit.messages import Source
    from compatcheck.matrix.load import LoadedMatrix

_FILE = click.Path(path_type=Path, exists=True, dir_okay=False)
_FOLDER = click.Path(path_type=Path, exists=True, file_okay=False)


@click.command()
@click.option("--vllm", "vllm", metavar="VERSION", help="This vLLM (or latest) from the package index.")
@click.option("--flashinfer", "flashinfer", metavar="VERSION", help="This FlashInfer (or latest); default: vLLM's pin.")
@click.option("--wheel", "wheels", multiple=True, type=_FILE, help="A wheel file instead. May be given twice.")
@click.option(
    "--tree", "trees", multiple=True, type=_FOLDER, help="An unpacked wheel or a site-packages folder instead."
)
@click.option("--executed", is_flag=True, help="Import the release in an environment of its own, and ask its selector.")
@click.option(
    "--python", "python", type=_FILE, help="With --executed: an interpreter that has the release's requirements."
)
@click.option("--sm", "sms", multiple=True, help="With --executed: ask as on this compute capability only.")
@click.option(
    "--format", "format_", type=click.Choice(["text", "json", "patch"]), default="text", help="Default: text."
)
@click.option(
    "--patch", "patch", type=click.Path(path_type=Path, dir_okay=False), help="Write a patch for the matrix here."
)
@click.option("--output", "output", type=click.Path(path_type=Path, dir_okay=False), help="Write the JSON here, too.")
@click.option("--evidence", "evidence", type=_FOLDER, help="Evidence files of smoke runs; default: ./docs/evidence.")
@click.option(
    "--acknowledged",
    "acknowledged",
    type=_FILE,
    help="Another file of gates that a person has compared; guards.json is taken from the same folder.",
)
@matrix_options
def audit(
    vllm: str | None,
    flashinfer: str | None,
    wheels: tuple[Path, ...],
    trees: tuple[Path, ...],
    executed: bool,
    python: Path | None,
    sms: tuple[str, ...],
    format_: str,
    patch: Path | None,
    output: Path | None,
    evidence: Path | None,
    acknowledged: Path | None,
    matrix_file: Path | None,
    overlays: tuple[Path, ...],
) -> None:
    """Compare the matrix with what a vLLM or FlashInfer release's own code says.

    Without --vllm, --flashinfer, --wheel or --tree: the releases that are installed here. Their files are read as text,
    in a process with limits; nothing of them is imported, unless --executed asks for it (in yet another process, and
    in an environment of its own: whoever gives --executed trusts the release).

    Exit codes: 0 no drift, 1 drift, 2 a release or file cannot be read or is refused, 3 no drift, but a gate was not
    understood and nobody has compared it with the matrix yet.
    """
    from compatcheck.audit.archives import ReleaseError

    loaded = load_matrix(matrix_file, overlays)
    if (python is not None or sms) and not executed:
        raise click.UsageError("--python and --sm go with --executed")
    for sm in sms:
        if sm not in loaded.matrix.sms:
            raise click.UsageError(
                f"--sm: {sm!r} is no compute capability of the matrix: {', '.join(loaded.matrix.sms)}"
            )
    _version("--vllm", vllm)
    _version("--flashinfer", flashinfer)
    try:
        with tempfile.TemporaryDirectory(prefix="compatcheck-audit-") as folder:
            sources = _sources(vllm, flashinfer, wheels, trees, Path(folder))
            found = _audit(loaded, sources, evidence, executed, python, sms, acknowledged)
    except ReleaseError as error:
        click.echo(f"compatcheck audit: {error}", err=True)
        sys.exit(USAGE)
    _show(found, loaded, format_, patch, output, matrix_file)
    sys.exit(FINDINGS if found.differences else UNKNOWN if found.unknown() else FINE)


def _version(option: str, version: str | None) -> None:
    from compatcheck.host.metadata import is_valid_version

    if version is not None and version != "latest" and not is_valid_version(version):
        raise click.UsageError(f"{option}: {version!r} is neither 'latest' nor a version that follows PEP 440")


def _sources(
    vllm: str | None, flashinfer: str | None, wheels: tuple[Path, ...], trees: tuple[Path, ...], folder: Path
) -> dict[str, Source]:
    from compatcheck.audit.archives import ReleaseError
    from compatcheck.audit.locate import fetched, given, installed, pin

    versions = {"vllm": vllm, "flashinfer-python": flashinfer}
    found = given(wheels, trees, versions)
    found.update(fetched(versions, found, folder))
    if vllm is not None and "flashinfer-python" not in found:
        pinned = pin(found["vllm"], "flashinfer-python")
        found.update(fetched({"flashinfer-python": pinned}, found, folder))
    found = found or installed()
    if not found:
        raise ReleaseError(
            "neither vLLM nor FlashInfer is installed here; give --vllm, --flashinfer, --wheel or --tree"
        )
    return found


def _audit(
    loaded: LoadedMatrix,
    sources: dict[str, Source],
    folder: Path | None,
    executed: bool,
    python: Path | None,
    sms: tuple[str, ...],
    file: Path | None,
) -> Audit:
    from compatcheck.audit import acknowledged
    from compatcheck.audit.archives import ReleaseError
    from compatcheck.audit.guards import records as guard_records
    from compatcheck.audit.run import audit as read_audit
    from compatcheck.audit.run import evidence

    try:
        proofs = evidence(folder or Path("docs/evidence"))
        known = acknowledged.load(file or acknowledged.FILE)
        records = guard_records.load(file.with_name(guard_records.FILE.name) if file else guard_records.FILE)
    except ValueError as error:
        raise ReleaseError(str(error)) from error
    vllm, flashinfer = sources.get("vllm"), sources.get("flashinfer-python")
    if not executed:
        return read_audit(loaded, vllm, flashinfer, proofs, known, records)
    from compatcheck.audit.executed import audit as executed_audit

    return executed_audit(loaded, vllm, flashinfer, proofs, python, sms)


def _show(
    found: Audit,
    loaded: LoadedMatrix,
    format_: str,
    patch: Path | None,
    output: Path | None,
    matrix_file: Path | None,
) -> None:
    import msgspec

    document = msgspec.json.format(msgspec.json.encode(found), indent=2) + b"\n"
    if output is not None:
        _write(output, document.decode())
    if format_ == "json":
        sys.stdout.buffer.write(document)
    elif format_ == "text":
        from compatcheck.report.audit_text import write

        write(found, sys.stdout)
    if format_ != "patch" and patch is None:
        return
    from compatcheck.audit.patch import make_patch

    made = make_patch(found, loaded, matrix_file)
    for line in made.left_out:
        click.echo(f"compatcheck audit: not in the patch: {line}", err=True)
    if patch is None:
        sys.stdout.write(made.text)
        return
    _write(patch, made.text)


def _write(path: Path, text: str) -> None:
    from compatcheck.atomic import write_atomically

    try:
        write_atomically(path, text.encode("utf-8"))
    except OSError as error:
        click.echo(f"compatcheck audit: {path}: cannot be written: {error.strerror}", err=True)
        sys.exit(INTERNAL)
