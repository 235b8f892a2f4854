"""compatcheck scan: the launches in files, each checked at its place."""

from __future__ import annotations

import codecs
import sys
from fnmatch import fnmatch
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec

from compatcheck.cli.complain import complain
from compatcheck.cli.exit_codes import FINDINGS, FINE, UNKNOWN, USAGE
from compatcheck.cli.options import load_matrix, matrix_options
from compatcheck.resolve.configuration import Configuration

if TYPE_CHECKING:
    from compatcheck.launch.scan import FileScan
    from compatcheck.report.diagnostic import Diagnostic

SKIPPED = frozenset({".git", ".hg", ".venv", "venv", "node_modules", "__pycache__", ".tox", "site-packages"})
"""Folders that are not looked into."""
NAMES = (
    *("*.md", "*.mdx", "*.markdown", "*.py", "*.pyi", "*.sh", "*.bash", "*.yaml", "*.yml", "*.service"),
    *("*ockerfile*", "*ontainerfile*", "*.zsh", "*.sbatch", "*.slurm", "*.container"),
    *("makefile*", "gnumakefile", "*.mk", "*.mak", "justfile", "*.justfile", "*.just"),
    *(f"*.{kind}.{by}" for kind in ("sh", "sbatch", "slurm", "service", "container") for by in ("j2", "tmpl", "tpl")),
)
"""Files that are looked at in a folder, in small letters; a file named on the command line is always looked at."""
MAX_BYTES = 4 * 1024 * 1024


@click.command()
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--sm", "--gpu", "sm", help="The GPU of every launch that does not name one itself.")
@click.option("--vllm", "--engine-version", "engine_version", help="The vLLM release of every launch.")
@click.option("--flashinfer", "--flashinfer-version", "flashinfer_version", help="The FlashInfer of every launch.")
@click.option("--exclude", multiple=True, metavar="GLOB", help="Not these paths; may be repeated.")
@click.option("--notes", is_flag=True, help="Report notes too.")
@click.option("--strict", is_flag=True, help="Report launches whose verdict is unknown; exit code 3.")
@click.option(
    "--format", "format_", type=click.Choice(["text", "json", "sarif", "github"]), default="text", help="Default: text."
)
@matrix_options
def scan(
    paths: tuple[Path, ...],
    sm: str | None,
    engine_version: str | None,
    flashinfer_version: str | None,
    exclude: tuple[str, ...],
    notes: bool,
    strict: bool,
    format_: str,
    matrix_file: Path | None,
    overlays: tuple[Path, ...],
) -> None:
    """Find launches of vLLM in compose files, manifests, charts' values, scripts, Markdown, Python, and check each.

    Dockerfiles, units, quadlets, Makefiles, justfiles, Slurm's scripts and Ray Serve's configurations are read too.

    GPU and release come from the options, from a comment (`# compatcheck: sm=9.0 vllm=0.33.0`), from the image's tag or
    from a node selector. Where no GPU is known, every one is tried, and only what works on none is an error. Silence a
    finding where it stands with `# compatcheck: ignore[CODE] reason`. Nothing in the files is run.
    """
    from compatcheck.launch.scan import ScanOptions, scan_text

    given: dict[str, Any] = {"sm": sm, "engine_version": engine_version, "flashinfer_version": flashinfer_version}
    loaded = load_matrix(matrix_file, overlays)
    options = ScanOptions(
        given=_valid(loaded, Configuration(**{k: v for k, v in given.items() if v})), notes=notes, strict=strict
    )
    scans: list[FileScan] = []
    problems: list[str] = []
    for path in _files(paths, exclude, problems):
        try:
            text = _text(path)
        except ValueError as error:
            problems.append(str(error))
            continue
        if text is None and path in paths:
            click.echo(f"{path}: not looked at: no text, or larger than {MAX_BYTES >> 20} MiB", err=True)
        if text is not None:
            scans.append(scan_text(loaded, str(path), text, options, str(path.parent)))
    told = dict.fromkeys(f"{d.file}:{d.line}:{d.column}: {d.message}" for s in scans for d in s.unreadable)
    problems += told
    _write(scans, format_)
    for problem in problems:
        complain(problem)
    sys.exit(_exit_code(scans, problems))


def _valid(loaded: Any, given: Configuration) -> Configuration:
    from compatcheck.resolve.normalise import ConfigurationError, normalise

    try:
        normalise(loaded.matrix, given)
    except ConfigurationError as error:
        for field, text in error.problems:
            complain(f"compatcheck scan: --{field.replace('_', '-')}: {text}")
        sys.exit(USAGE)
    return given


def _files(paths: tuple[Path, ...], exclude: tuple[str, ...], problems: list[str]) -> list[Path]:
    found: list[Path] = []
    for path in paths:
        if path.is_dir():
            found += sorted(
                file
                for file in path.rglob("*")
                if not SKIPPED.intersection(file.relative_to(path).parts[:-1])
                and any(fnmatch(file.name.lower(), name) for name in NAMES)
                and file.is_file()
            )
        elif path.exists():
            found.append(path)
        else:
            problems.append(f"{path}: no such file or folder")
    kept = [file for file in found if not any(fnmatch(str(file), glob) for glob in exclude)]
    return list(dict.fromkeys(kept))


def _text(path: Path) -> str | None:
    """Return a file's text; None where it holds no text. Raises `ValueError` where it cannot be read."""
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise ValueError(f"{path}: cannot be read: {error.strerror}") from error
    utf16 = data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    if not utf16 and "vllm".encode("utf-16-le") in data:
        raise ValueError(f"{path}:1:1: UTF-16 without a byte order mark; save it as UTF-8")
    if len(data) > MAX_BYTES or (b"\x00" in data[:1024] and not utf16):
        return None
    try:
        return data.decode("utf-16" if utf16 else "utf-8-sig")
    except UnicodeDecodeError as error:
        if b"vllm" not in data.lower() and not utf16:
            return None
        line = data.count(b"\n", 0, error.start) + 1
        raise ValueError(f"{path}:{line}:1: not UTF-{16 if utf16 else 8}") from error


def _write(scans: list[FileScan], format_: str) -> None:
    diagnostics: list[Diagnostic] = [d for s in scans for d in s.diagnostics]
    launches = [launch for s in scans for launch in s.launches]
    if format_ == "json":
        document = {"document": "compatcheck-scan", "schema": 1, "launches": launches, "diagnostics": diagnostics}
        sys.stdout.buffer.write(msgspec.json.format(msgspec.json.encode(document), indent=2) + b"\n")
    elif format_ == "sarif":
        from compatcheck.report import sarif

        sys.stdout.buffer.write(sarif.render(diagnostics))
    elif format_ == "github":
        from compatcheck.report import github

        sys.stdout.write(github.render(diagnostics))
    else:
        from compatcheck.report.diagnostic_text import render
        from compatcheck.report.styled import write

        write(render(diagnostics), sys.stdout)
        counts = ", ".join(
            f"{count} {name}"
            for name in ("unsupported", "degraded", "unknown", "supported")
            if (count := sum(launch.verdict == name for launch in launches))
        )
        complain(f"{len(launches)} launches in {len(scans)} files" + (f": {counts}" if counts else ""))


def _exit_code(scans: list[FileScan], problems: list[str]) -> int:
    if problems:
        return USAGE
    levels = {(d.level, d.code) for s in scans for d in s.diagnostics}
    if any(level != "note" and code != "unknown" for level, code in levels):
        return FINDINGS
    return UNKNOWN if levels and any(code == "unknown" for _, code in levels) else FINE
