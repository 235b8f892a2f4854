"""Auto-selection: the order in which backends are tried, and what it picks for common models on every SM."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from compatcheck.docs.axes import SHAPES
from compatcheck.docs.pages import Page
from compatcheck.docs.reasons import without_values
from compatcheck.resolve.describe import describe_condition
from compatcheck.resolve.engine import latest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from compatcheck.docs.grid import Grid
    from compatcheck.docs.site import Site

SCENARIOS: tuple[tuple[str, str, str, dict[str, Any]], ...] = (
    ("Standard attention, head size 128", "standard", "128", {}),
    ("with an FP8 KV cache", "standard", "128", {"kv_cache_dtype": "fp8"}),
    ("with an NVFP4 KV cache", "standard", "128", {"kv_cache_dtype": "nvfp4"}),
    ("with attention sinks, head size 64", "standard", "64", {"has_sink": True}),
    ("with image masks, head size 256", "standard", "256", {"use_mm_prefix": True}),
    ("head size 512", "standard", "512", {}),
    ("MLA (DeepSeek V3)", "mla", "dsv3", {}),
    ("MLA with an FP8 KV cache", "mla", "dsv3", {"kv_cache_dtype": "fp8"}),
    ("Sparse MLA (DeepSeek V3.2)", "mla-sparse", "dsv32", {}),
    ("Sparse MLA, 16 query heads", "mla-sparse", "dsv32", {"num_qo_heads": 16}),
    ("Sparse MLA with fp8_ds_mla", "mla-sparse", "dsv32", {"kv_cache_dtype": "fp8_ds_mla"}),
)
"""Title, kind, shape, and the fields that differ from the defaults."""


def pages(site: Site) -> Iterator[Page]:
    """Yield selection.md."""
    grid = site.grid
    release = grid.newest
    orders = latest(site.engine.priorities, release)
    prefill = latest(site.engine.mla_prefill_priorities, release)
    yield Page(
        "selection.md",
        "selection.md.j2",
        {
            "engine": site.engine,
            "release": release,
            "pins": site.engine.releases[release],
            "sms": grid.sms,
            "scenarios": [_scenario(grid, *scenario) for scenario in SCENARIOS if _known(grid, scenario[3])],
            "orders": _orders(orders, release),
            "order_sources": [source.ref for source in orders.sources] if orders else [],
            "prefill_orders": _orders(prefill, release),
            "prefill_sources": [source.ref for source in prefill.sources] if prefill else [],
        },
    )


def _known(grid: Grid, fields: dict[str, Any]) -> bool:
    return fields.get("kv_cache_dtype", grid.kv_of(grid.newest)[0]) in grid.kv_of(grid.newest)


def _orders(entry: Any, release: str) -> list[dict[str, Any]]:
    from compatcheck.resolve.backend import of_release

    return [
        {"when": describe_condition(case.when) if case.when else "otherwise", "order": case.order}
        for case in (of_release(entry.cases, release) if entry else [])
    ]


def _scenario(grid: Grid, title: str, kind: str, shape_id: str, fields: dict[str, Any]) -> dict[str, Any]:
    """Return what is picked on each SM, SMs with the same pick and order together."""
    shape = next(shape for shape in SHAPES[kind] if shape.id == shape_id)
    engine = grid.resolver.engine(grid.engine_name, grid.newest)
    picks: list[dict[str, Any]] = []
    for sm in grid.sms:
        facts = msgspec.structs.replace(
            grid.on(sm, grid.newest),
            use_mla=kind.startswith("mla"),
            use_sparse=kind.endswith("sparse"),
            **{**shape.fields, **fields},
        )
        verdict = grid.judge(facts, grid.newest)
        order, _ = engine.order(facts)
        pick = {
            "selected": verdict.selected,
            "verdict": verdict.verdict,
            "codes": list(dict.fromkeys(f.code for f in verdict.findings if f.effect != "note" and f.backend is None)),
            "order": order,
            "lacking": ", ".join(verdict.missing) or without_values(verdict.untested),
            "rejected": verdict.rejected or {},
        }
        alike = next(
            (p for p in picks if all(p[k] == pick[k] for k in ("selected", "verdict", "codes", "order", "lacking"))),
            None,
        )
        if alike:
            alike["sms"].append(sm)
        else:
            picks.append({**pick, "sms": [sm]})
    return {"title": title, "picks": picks}
