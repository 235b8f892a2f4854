"""Attention backends per SM family: what runs, what fails, what is refused and why, features, MLA prefill."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec

from compatcheck.docs.axes import KINDS, SHAPES, Kind
from compatcheck.docs.features import FEATURES, LISTS, QUESTIONS
from compatcheck.docs.pages import Page
from compatcheck.docs.states import MARKS, Row, best, rows_of, said_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from compatcheck.docs.grid import Grid
    from compatcheck.docs.site import Site
    from compatcheck.resolve.configuration import Configuration

DIMENSIONS = ((128, 64, 128), (192, 64, 256), (64, 64, 128), (256, 0, 256))
"""MLA prefill: qk_nope_head_dim, qk_rope_head_dim, v_head_dim."""


class Features(msgspec.Struct, kw_only=True):
    """What one backend grants on SMs that say the same. Each answer is a mark and the code behind it."""

    backend: str
    sms: list[str]
    asked_with: str
    flags: dict[str, tuple[str, str | None]]
    lists: dict[str, list[str]]
    since: str
    sources: list[str]


class Refused(msgspec.Struct, kw_only=True):
    """What the selector refuses of one backend, and the codes of why. Empty dtypes and shapes: all that were asked."""

    backend: str
    sms: list[str]
    kvs: tuple[str, ...]
    shapes: tuple[str, ...]
    codes: tuple[str, ...]


class Section(msgspec.Struct, kw_only=True):
    """One kind of attention on one SM family. `rows` have something to run or to warn of, `refused` nothing."""

    kind: Kind
    rows: list[Row]
    proofs: list[list[str]]
    """What live runs proved of each row."""
    refused: list[Refused]
    features: list[Features]


def makers(site: Site) -> dict[str, Callable[[Site], Iterator[Page]]]:
    """Return what makes each page, by the page's name: each is as much work as other modules' pages together."""
    families = {family: partial(family_page, family=family) for family in site.families()}
    return {__name__: pages, **{f"{__name__}/{family}": make for family, make in families.items()}}


def pages(site: Site) -> Iterator[Page]:
    """Yield attention-backends.md, an overview."""
    yield Page("attention-backends.md", "attention-backends.md.j2", overview(site))


def family_page(site: Site, family: str) -> Iterator[Page]:
    """Yield attention-backends/sm-FAMILY.md."""
    variables = of_family(site, family, site.families()[family])
    yield Page(f"attention-backends/sm-{family}.md", "attention-family.md.j2", variables)


def overview(site: Site) -> dict[str, Any]:
    """Return, per kind and backend, the best state on each SM over every KV-cache dtype and shape asked."""
    grid = site.grid
    return {
        "engine": site.engine,
        "release": grid.newest,
        "pins": site.engine.releases[grid.newest],
        "families": site.families(),
        "sms": grid.sms,
        "kinds": [
            {"kind": kind, "backends": [_best(site, name) for name in grid.backends(grid.newest, kind)]}
            for kind in KINDS
        ],
    }


def _best(site: Site, backend: str) -> dict[str, Any]:
    grid = site.grid
    found = {
        sm: best(site.states.best(grid.newest, backend, sm, kv) for kv in grid.kv_of(grid.newest)) for sm in grid.sms
    }
    return {
        "name": backend,
        "title": grid.engine.backends[backend].title,
        "since": grid.engine.backends[backend].since,
        "marks": {sm: MARKS[state or "refused"] for sm, state in found.items()},
    }


def of_family(site: Site, family: str, sms: Sequence[str]) -> dict[str, Any]:
    """Return what the page of one SM family may use."""
    grid = site.grid
    return {
        "engine": site.engine,
        "release": grid.newest,
        "pins": site.engine.releases[grid.newest],
        "family": family,
        "gpus": {sm: site.matrix.sms[sm] for sm in sms},
        "sections": [section(site, kind, sms) for kind in KINDS],
        "prefill": prefill(grid, sms),
        "routes": site.engine.routes,
        "features": list(FEATURES),
        "lists": list(LISTS),
    }


def row_proof(site: Site, row: Row) -> list[str]:
    """Return what live runs proved of a row: on its SMs, its kernels, with the dtypes that it says run."""
    kvs = list(dict.fromkeys(kv for group in row.of("runs") for kv in group.kvs))
    if row.route is None or not kvs:
        return []
    return [
        line
        for dtype in dict.fromkeys(str(site.grid.on(sm, site.grid.newest).dtype) for sm in row.sms)
        for line in site.route_proof(row.route, row.sms, dtype, kvs)
    ]


def section(site: Site, kind: Kind, sms: Sequence[str]) -> Section:
    """Return a kind of attention on some SMs, under the newest release."""
    grid = site.grid
    release = grid.newest
    everything = [
        row for backend in grid.backends(release, kind) for row in rows_of(site.states, release, backend, sms)
    ]
    rows = [row for row in everything if any(group.said.state != "refused" for group in row.groups)]
    refused = [one for row in everything for one in _refused(row, everything)]
    features = [found for backend in grid.backends(release, kind) for found in _features(grid, backend, sms)]
    proofs = [row_proof(site, row) for row in rows]
    return Section(kind=kind, rows=rows, proofs=proofs, refused=refused, features=features)


def _refused(row: Row, rows: list[Row]) -> list[Refused]:
    """Return the refusals of a row; one line where everything is refused and some code is behind all of it."""
    groups = row.of("refused")
    always = [code for code in (groups[0].said.codes if groups else ()) if all(code in g.said.codes for g in groups)]
    elsewhere = any(r is not row and r.backend == row.backend and set(r.sms) & set(row.sms) for r in rows)
    if always and len(groups) == len(row.groups) and not elsewhere:
        return [Refused(backend=row.backend, sms=row.sms, kvs=(), shapes=(), codes=tuple(always))]
    return [Refused(backend=row.backend, sms=row.sms, kvs=g.kvs, shapes=g.shapes, codes=g.said.codes) for g in groups]


def _features(grid: Grid, backend: str, sms: Sequence[str]) -> list[Features]:
    found: list[Features] = []
    for sm in sms:
        one = _features_on(grid, backend, sm)
        if one is None:
            continue
        alike = next(
            (f for f in found if (f.flags, f.lists, f.asked_with) == (one.flags, one.lists, one.asked_with)), None
        )
        if alike is None:
            found.append(one)
        else:
            alike.sms.append(sm)
    return found


def _features_on(grid: Grid, backend: str, sm: str) -> Features | None:
    """Return what is said of each feature on top of the first configuration that runs here."""
    featured = grid.featured(backend, sm)
    if featured is None:
        return None
    entry = grid.engine.backends[backend]
    answers = dict(zip(QUESTIONS, [said_of(grid.feature_reasons, cell) for cell in featured.cells], strict=True))

    def asked(field: str, value: Any) -> tuple[str, str | None]:
        said = answers[field, value]
        return MARKS[said.state], said.codes[0] if said.codes else None

    return Features(
        backend=backend,
        sms=[sm],
        asked_with=f"{featured.kv}, {SHAPES[grid.kind(backend).id][featured.shape].title}",
        flags={name: asked(field, value) for name, (field, value) in FEATURES.items()},
        lists={
            name: [_listed(value, mark) for value in values if (mark := asked(field, value)[0]) != "no"]
            for name, (field, values) in LISTS.items()
        },
        since=entry.since,
        sources=[source.ref for source in entry.sources],
    )


def _listed(value: Any, mark: str) -> str:
    return str(value) if mark == "yes" else f"{value} ({mark})"


def prefill(grid: Grid, sms: Sequence[str]) -> list[dict[str, Any]]:
    """Return what each MLA prefill backend answers for `DIMENSIONS`, SMs with equal answers together."""
    release = grid.newest
    engine = grid.resolver.engine(grid.engine_name, release)
    codes = [code for code, rule in grid.matrix.rules.items() if rule.kind == "attention"]
    rules = [rule for rule in grid.asker.compiled(codes, release) if rule.rule.effect == "unsupported"]
    calls: dict[str, list[tuple[Configuration, list[str]]]] = {}
    for sm in sms:
        for nope, rope, v in DIMENSIONS:
            shape = {"qk_nope_head_dim": nope, "qk_rope_head_dim": rope, "v_head_dim": v}
            facts = msgspec.structs.replace(grid.on(sm, release), use_mla=True, **shape)
            # Only what speaks of MLA models on this SM, whatever decodes: no backend is given.
            calls.setdefault(sm, []).append((facts, [rule.code for rule in rules if rule.holds(facts)]))
    found: list[dict[str, Any]] = []
    for name in engine.prefill_backends:
        program = engine.prefill_program(name)
        for sm in sms:
            answers = []
            for facts, later in calls[sm]:
                judgement = program.judge(facts)
                refusing = judgement.refusals
                mark = "no" if refusing else ("fails" if later else ("?" if judgement.missing else "yes"))
                answers.append((mark, refusing[0].check.code if refusing else (later[0] if later else None)))
            entry = grid.engine.mla_prefill_backends[name]
            alike = next((f for f in found if f["backend"] == name and f["answers"] == answers), None)
            if alike:
                alike["sms"].append(sm)
            else:
                found.append(
                    {
                        "backend": name,
                        "title": entry.title,
                        "sms": [sm],
                        "answers": answers,
                        "since": entry.since,
                        "sources": [source.ref for source in entry.sources],
                    }
                )
    return found
