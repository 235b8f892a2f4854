"""From the inputs of a path to configurations that the matrix can be asked about."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator, Mapping, Sequence
from types import SimpleNamespace
from typing import Any

from compatcheck.resolve.configuration import DEFAULTS, FIELDS

MOST = 500
"""Configurations that are asked for one path; of more, an evenly drawn part."""

DIMENSIONS = {"qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "kv_lora_rank": 512, "v_head_dim": 128}
"""An MLA model's dimensions where a gate does not look at them."""

ASKED: dict[str, str] = {
    "use_mm_prefix": "use_mm_prefix",
    "has_sink": "has_sink",
    "use_per_head_quant_scales": "use_per_head_quant_scales",
    "sliding_window": "sliding_window",
    "use_rswa": "use_rswa",
    "use_non_causal": "use_non_causal",
    "use_batch_invariant": "use_batch_invariant",
    "use_kv_connector": "use_kv_connector",
    "use_pcp": "use_pcp",
    "use_dcp": "use_dcp",
    "use_adaptive_verification": "use_adaptive_verification",
}
"""Check of the selector -> the field that asks its question."""


def base(**more: Any) -> dict[str, Any]:
    """Return the facts of a configuration in which nothing special is asked for."""
    facts: dict[str, Any] = dict.fromkeys(FIELDS)
    facts.update({name: value for name, (value, _) in DEFAULTS.items()})
    facts.update(sm="9.0", head_size=128, num_qo_heads=32, num_kv_heads=8)
    facts.update(more)
    return facts


def points(facts: Mapping[str, Any], axes: Mapping[str, tuple[Any, ...]]) -> Iterator[SimpleNamespace]:
    """Yield the consistent configurations over some axes; it is one object, changed from one to the next."""
    names = list(axes)
    point = SimpleNamespace(**facts)
    usual = {name: point.__dict__[name] for name in ("use_mla", "num_kv_heads", *DIMENSIONS) if name not in axes}
    dimensions = [name for name in DIMENSIONS if name in axes]
    now = point.__dict__
    for values in _combinations(names, axes):
        now.update(usual)
        now.update(zip(names, values, strict=True))
        if _complete(now, dimensions, axes):
            yield point


def _combinations(names: list[str], axes: Mapping[str, tuple[Any, ...]]) -> Iterator[tuple[Any, ...]]:
    total = 1
    for name in names:
        total *= len(axes[name])
    if total <= MOST:
        yield from itertools.product(*(axes[name] for name in names))
        return
    draw = random.Random(f"{names}{total}")  # noqa: S311 - the same part every time, no secret
    for _ in range(MOST):
        yield tuple([draw.choice(axes[name]) for name in names])


def _complete(point: dict[str, Any], dimensions: list[str], axes: Mapping[str, tuple[Any, ...]]) -> bool:
    """Make a model's dimensions and its use of MLA agree; return False where they cannot."""
    if dimensions:
        absent = [point[name] is None for name in dimensions]
        if any(absent):
            if not all(absent) or ("use_mla" in axes and point["use_mla"]):
                return False
            point["use_mla"] = False
        else:
            if "use_mla" in axes and not point["use_mla"]:
                return False
            point["use_mla"] = True
    for name, usual in DIMENSIONS.items():
        if name not in axes:
            point[name] = usual if point["use_mla"] else None
    if point["use_mla"] and "num_kv_heads" not in axes:
        point["num_kv_heads"] = 1
    heads, groups = point["num_qo_heads"], point["num_kv_heads"]
    return bool(heads) and bool(groups) and heads % groups == 0


def spelled(mismatches: Sequence[Mapping[str, Any]], axes: Mapping[str, tuple[Any, ...]]) -> str:
    """Return for which inputs something holds: every axis on which it does not hold everywhere."""
    parts: list[str] = []
    for name, values in axes.items():
        seen = [value for value in values if any(point[name] == value for point in mismatches)]
        if len(seen) < len(values):
            shown = ", ".join(
                "none" if v is None else str(v).lower() if isinstance(v, bool) else str(v) for v in seen[:12]
            )
            parts.append(f"{name} {shown}{', ...' if len(seen) > 12 else ''}")
    return "; ".join(parts)
