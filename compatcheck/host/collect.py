"""Collect everything about this host into one `Host`."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from compatcheck.host.environment import collect_environment
from compatcheck.host.model import Driver, Gpu, Host, Toolkit
from compatcheck.host.packages import collect_packages, default_site_paths
from compatcheck.host.system import collect_system


def collect(
    *,
    site_paths: Sequence[str | Path] | None = None,
    environ: Mapping[str, str] | None = None,
    nvml: Any | None = None,
    symbols: Mapping[str, Sequence[str]] | None = None,
    python: str | None = None,
    gpus: bool = True,
    toolkit: bool = True,
    files: bool = True,
) -> Host:
    """Return what this host has. Reads files, runs `nvcc --version`, starts NVML; imports no GPU package.

    `site_paths` are the directories to look for packages in (default: this interpreter's; see
    `compatcheck.host.interpreter.ask_interpreter` for another's, and pass its version as `python`). `environ`
    replaces the process environment, `nvml` stands in for the pynvml module, `symbols` maps FlashInfer
    functions to the modules that may define them (default: `symbols.SYMBOLS`). `gpus`, `toolkit` and
    `files` leave out the three parts that cost time: NVML, nvcc, and parsing FlashInfer's and vLLM's sources.

    Nothing that a host can lack raises: an absence is recorded.
    """
    given = os.environ if environ is None else environ
    sites = default_site_paths() if site_paths is None else [Path(path) for path in site_paths]
    packages, broken = collect_packages(sites)
    driver = Driver(state="not-queried")
    found_gpus: tuple[Gpu, ...] = ()
    if gpus:
        from compatcheck.host.nvml import query_nvml

        driver, found_gpus = query_nvml(nvml, given)
    kit = Toolkit(source="not-queried")
    if toolkit:
        from compatcheck.host.toolkit import inspect_toolkit

        kit = inspect_toolkit(given)
    sources: dict[str, Any] = {}
    if files and ("flashinfer-python" in packages or "vllm" in packages):
        sources = _sources(sites, symbols)
    return Host(
        tool=_tool_version(),
        system=collect_system(python),
        driver=driver,
        gpus=found_gpus,
        toolkit=kit,
        packages=packages,
        broken_packages=broken,
        environment=collect_environment(given),
        **sources,
    )


def _sources(sites: Sequence[Path], symbols: Mapping[str, Sequence[str]] | None) -> dict[str, Any]:
    from compatcheck.host.flashinfer_files import inspect_flashinfer
    from compatcheck.host.module_names import Names
    from compatcheck.host.module_roots import find_package
    from compatcheck.host.symbols import SYMBOLS
    from compatcheck.host.vllm_files import inspect_vllm

    flashinfer = find_package("flashinfer", sites)
    names = Names(flashinfer) if flashinfer is not None else None
    has = inspect_flashinfer(flashinfer, SYMBOLS if symbols is None else symbols, names)
    wants = inspect_vllm(find_package("vllm", sites), names)
    return {
        "flashinfer_symbols": has.symbols,
        "flashinfer_exports": has.exports,
        "flashinfer_import_queries_gpu": has.import_queries_gpu,
        "unreadable_files": tuple(dict.fromkeys((*has.unreadable, *wants.unreadable))),
        "vllm_imports": wants.imports,
        "vllm_reads": wants.reads,
    }


def _tool_version() -> str | None:
    """Return compatcheck's own version from the metadata beside it, or None in a bare checkout."""
    from compatcheck.host.metadata import MetadataError, entry_name, read_metadata

    site = Path(__file__).resolve().parents[2]
    for entry in sorted(site.glob("compatcheck-*.dist-info")):
        if entry_name(entry.name) == "compatcheck":
            try:
                return read_metadata(entry).version
            except MetadataError:
                return None
    return None
