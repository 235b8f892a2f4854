"""A gate's answers as an entry of the matrix, where they depend on the value itself and on the SM alone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from compatcheck.audit.reading.explore import Reading

LISTED = {"dtype": "dtypes", "attn_type": "attn_types"}
GRANTED = {"kv_cache_dtype": "kv_cache_dtypes"}
FLAGS = {
    "use_mm_prefix": "mm_prefix",
    "has_sink": "sinks",
    "use_per_head_quant_scales": "per_head_quant_scales",
    "sliding_window": "sliding_window",
    "use_rswa": "rswa",
    "use_non_causal": "non_causal",
    "non_causal_dcp": "non_causal_dcp",
    "use_batch_invariant": "batch_invariance",
    "use_kv_connector": "kv_connector",
    "use_pcp": "pcp",
    "use_dcp": "dcp",
    "use_adaptive_verification": "query_lens_mismatch",
    "sm": "sms",
}
"""Check of the selector -> the matrix's field of a backend."""


def entry(check: str, reading: Reading, sms: Iterable[str], values: Iterable[Any]) -> dict[str, Any] | None:
    """Return `{field: value}` for a backend's entry, or None where the answer needs a person."""
    known = list(sms)
    if any(path.gate or path.raises for path in reading.paths):
        return None
    if check in FLAGS and all(set(path.given) <= {"sm"} for path in reading.paths):
        accepted = [sm for sm in known if _answer(reading, {"sm": sm})]
        if len(accepted) in (0, len(known)):
            return {FLAGS[check]: bool(accepted)}
        return {FLAGS[check]: {"sm": accepted}}
    if check in LISTED and all(set(path.given) <= {check} for path in reading.paths):
        return {LISTED[check]: [value for value in values if _answer(reading, {check: value})]}
    if check in GRANTED and all(set(path.given) <= {check, "sm"} for path in reading.paths):
        groups: dict[tuple[str, ...], list[Any]] = {}
        for value in values:
            accepted = [sm for sm in known if _answer(reading, {check: value, "sm": sm})]
            if accepted:
                groups.setdefault(tuple(accepted), []).append(value)
        grants = [
            {"values": named} if len(where) == len(known) else {"values": named, "when": {"sm": list(where)}}
            for where, named in groups.items()
        ]
        return {GRANTED[check]: grants}
    return None


def _answer(reading: Reading, point: Mapping[str, Any]) -> bool:
    for path in reading.paths:
        if all(name not in path.given or value in path.given[name] for name, value in point.items()):
            return bool(path.result)
    return False
