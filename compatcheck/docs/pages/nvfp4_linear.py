"""NVFP4 linear layers: which kernel is picked where, in which order, what each needs, how to ask for one."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import msgspec

from compatcheck.docs.linear_asks import BATCH_INVARIANT, ENGINE
from compatcheck.docs.linear_states import MARKS, short
from compatcheck.docs.linear_tables import OTHERWISE, orders, picks, runs
from compatcheck.docs.pages import Page
from compatcheck.docs.states import ranges
from compatcheck.matrix.versions import parse
from compatcheck.resolve.describe import describe_condition, describe_where

if TYPE_CHECKING:
    from collections.abc import Iterator

    from compatcheck.docs.catalog_entry import Entry
    from compatcheck.docs.linear_grid import LinearGrid
    from compatcheck.docs.site import Site
    from compatcheck.matrix.linear_model import LinearKernel
    from compatcheck.matrix.records import Limited

SIZES = ((4096, "a multiple of 64"), (3696, "a multiple of 16, not of 32"), (3700, "no multiple of 16"))
"""K per rank that the alignment table asks about, and what is special about it."""


def pages(site: Site) -> Iterator[Page]:
    """Yield nvfp4-linear.md, where the matrix says anything of linear layers."""
    grid = site.linear
    if grid is None:
        return
    linear = grid.linear
    newest = grid.newest
    yield Page(
        "nvfp4-linear.md",
        "nvfp4-linear.md.j2",
        {
            "engine": site.engine,
            "release": newest,
            "pins": site.engine.releases[newest],
            "linear": linear,
            "columns": [", ".join(sms) for sms in grid.columns],
            "short": short,
            "marks": MARKS,
            "by_release": {s: runs(grid.releases, _picker(grid, s, ENGINE)) for s in grid.schemes},
            "by_flashinfer": {s: runs(grid.flashinfer, _by_flashinfer(grid, s)) for s in grid.schemes},
            "batch_invariant": {s: runs(grid.releases, _picker(grid, s, BATCH_INVARIANT)) for s in grid.schemes},
            "one_by_one": {s: _one_by_one(grid, s) for s in grid.schemes},
            "alignment": [_aligned(site, grid, k, what) for k, what in SIZES],
            "orders": runs(grid.releases, lambda release: orders(grid, release)),
            "forced": [_line(site, case) | {"kernel": case.value} for case in linear.forced if case.value is not None],
            "preferred": _preferred(grid),
            "kernels": [_kernel(site, name, kernel) for name, kernel in linear.kernels.items()],
            "options": [
                (name, _came(grid, name), _named(grid, name)) for name, o in linear.options.items() if o.kernels
            ],
            "elsewhere_computed": describe_where,
            "elsewhere": [name for name, option in linear.options.items() if not option.kernels],
            "variables": _variables(site),
            "entries": [entry for entry in site.catalog.values() if entry.linear],
            "run_on": sorted({p.evidence.fingerprint.sm or "" for p in site.evidence if _ran(site, p)} - {""}),
            "versions": lambda line: _versions(site, line),
        },
    )


def _picker(grid: LinearGrid, scheme: str, id_: str) -> Any:
    return lambda release: picks(grid, release, scheme, id_)


def _by_flashinfer(grid: LinearGrid, scheme: str) -> Any:
    return lambda version: picks(grid, grid.newest, scheme, ENGINE, version)


def _one_by_one(grid: LinearGrid, scheme: str) -> list[dict[str, Any]]:
    """Return what asking the newest release for each kernel gives; those that serve the scheme stand first."""
    asked = [ask for ask in grid.asks(grid.newest) if ask.kernel is not None]
    asked.sort(key=lambda ask: scheme not in grid.linear.kernels[str(ask.kernel)].serves)
    return [
        {"kernel": ask.kernel, "fields": ask.fields, "answers": picks(grid, grid.newest, scheme, ask.id)}
        for ask in asked
    ]


def _aligned(site: Site, grid: LinearGrid, k: int, what: str) -> dict[str, Any]:
    """Return what is said of a W4A4 layer with this K per rank, by run of releases and by SMs with the same answers."""
    first = [grid.sms[grid.sm_classes.index(number)] for number in sorted(set(grid.sm_classes))]

    def answer(release: str, sm: str) -> tuple[str, str | None, str | None]:
        verdict = grid.sized(release, "nvfp4_w4a4", sm, k)
        codes = [finding.code for finding in verdict.findings if finding.effect != "note"]
        sized = [finding.code for finding in verdict.findings if _asks_sizes(site.catalog[finding.code])]
        return verdict.verdict, verdict.selected, next(iter(sized or codes), None)

    answers = {sm: tuple([answer(release, sm) for release in grid.releases]) for sm in first}
    found: dict[tuple[Any, ...], list[str]] = {}
    for sm, number in zip(grid.sms, grid.sm_classes, strict=True):
        found.setdefault(answers[first[number]], []).append(sm)
    by_release = dict(zip(grid.releases, zip(*found, strict=True), strict=True))
    columns = [", ".join(sms) for sms in found.values()]
    return {"k": k, "what": what, "columns": columns, "rows": runs(grid.releases, lambda release: by_release[release])}


def _preferred(grid: LinearGrid) -> list[dict[str, Any]]:
    """Return where a kernel stands ahead of one that it otherwise follows: releases, condition, pairs of kernels."""
    found = []
    for run in runs(grid.releases, lambda release: orders(grid, release)):
        plain: list[str] = next((order for when, order in run["answer"] if when == OTHERWISE), [])
        for when, order in run["answer"]:
            known = [name for name in order if name in plain]
            pairs = [(a, b) for a, b in pairwise(known) if plain.index(b) < plain.index(a)]
            if pairs:
                found.append({"values": run["values"], "when": when, "pairs": pairs})
    return found


def _line(site: Site, line: Limited) -> dict[str, Any]:
    when = getattr(line, "when", None)
    return {"versions": _versions(site, line), "when": describe_condition(when) if when else OTHERWISE}


def _versions(site: Site, line: Limited) -> str:
    """Return the releases that have a line: '0.22.0 to before 0.24.0'."""
    first = line.since or site.linear.releases[0] if site.linear else ""
    return f"{first} to before {line.until}" if line.until else f"since {first}"


def _kernel(site: Site, name: str, kernel: LinearKernel) -> dict[str, Any]:
    """Return what is known of one kernel: gates with their pages, library refusals, padding, evidence."""
    linear = site.engine.linear
    inherited = linear.kernels[kernel.extends].gates if linear is not None and kernel.extends else []
    gates = [*kernel.gates, *inherited]
    library = site.matrix.kernels.get(kernel.kernel or "")
    return {
        "name": name,
        "facts": kernel,
        "gates": list(dict.fromkeys(gate.code for gate in gates)),
        "refusals": list(dict.fromkeys(refusal.code for refusal in library.refusals)) if library else [],
        "needs": library.needs if library else [],
        "advisories": [e.code for e in _about(site, name, kernel) if e.kind in ("advisory", "rule")],
        "sizes": [e.code for e in _about(site, name, kernel) if _asks_sizes(e)],
        "proof": [line for proof in site.evidence for line in proof.outcomes(kernel.kernel)] if kernel.kernel else [],
    }


def _about(site: Site, name: str, kernel: LinearKernel) -> list[Entry]:
    names = {name, kernel.kernel}
    return [entry for entry in site.catalog.values() if entry.linear and names.intersection(entry.kernels)]


def _asks_sizes(entry: Entry) -> bool:
    text = msgspec.json.encode(entry.conditions)
    return b"in_features" in text or b"out_features" in text


def _named(grid: LinearGrid, option: str) -> str:
    """Return the releases in which a value of --linear-backend names a kernel that the release has."""
    has = []
    for release in grid.releases:
        program = grid.program(release)
        if program.named_by(option):
            has.append(release)
    return ranges(has, grid.releases)


def _came(grid: LinearGrid, option: str) -> list[tuple[str, str | None]]:
    """Return the kernels of a value of --linear-backend, with the release of those that came after the first."""
    first = {
        name: next((r for r in grid.releases if name in grid.program(r).named_by(option)), None)
        for name in grid.linear.options[option].kernels
    }
    oldest = min((release for release in first.values() if release), key=parse, default=None)
    return [(name, release if release != oldest else None) for name, release in first.items()]


def _variables(site: Site) -> list[tuple[str, str, str]]:
    """Return the values of VLLM_NVFP4_GEMM_BACKEND: value, kernel, releases."""
    linear = site.engine.linear
    found = []
    for case in linear.forced if linear is not None else []:
        value = (case.when or {}).get("nvfp4_gemm_backend")
        if isinstance(value, str):
            found.append((value, str(case.value), _versions(site, case)))
    return found


def _ran(site: Site, proof: Any) -> bool:
    kernels = site.engine.linear.kernels.values() if site.engine.linear is not None else ()
    return any(proof.outcomes(kernel.kernel) for kernel in kernels if kernel.kernel)
