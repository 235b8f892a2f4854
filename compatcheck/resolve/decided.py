"""Where a backend's answer to one question stands in the matrix: its entry, a release's change, or a parent's entry."""

from __future__ import annotations

from typing import Any

from compatcheck.matrix.model import Backend, BackendFacts, JointRule
from compatcheck.matrix.versions import parse
from compatcheck.resolve.backend import FLAG_OF_FIELD, Check

Path = tuple[str | int, ...]

_FIELDS = {
    "head_size": "head_sizes",
    "kv_cache_dtype": "kv_cache_dtypes",
    "block_size": "block_sizes",
    "dtype": "dtypes",
    "attn_type": "attn_types",
    "sm": "sms",
    "mla": "mla",
    "non_mla": "mla",
    "sparse": "sparse",
    "non_sparse": "sparse",
    "non_causal_dcp": "non_causal_dcp",
} | FLAG_OF_FIELD
"""Question of the selector -> the fact that answers it."""


def decided_at(backends: dict[str, Backend], name: str, release: str, check: Check) -> Path:
    """Return the path, from the mapping of backends on, of what made a check refuse; the entry itself where unsure."""
    if check.rule is not None:
        return _rule_at(backends, name, check.rule) or (name,)
    field = _FIELDS.get(check.code.removeprefix("selector-").replace("-", "_"))
    return (name,) if field is None else _fact_at(backends, name, release, field) or (name,)


def _fact_at(backends: dict[str, Backend], name: str, release: str, field: str) -> Path | None:
    """Return where the fact that holds at a release is stated, as `compatcheck.resolve.backend.merge` takes it."""
    backend = backends[name]
    at = parse(release)
    changes = [(parse(change.since), i) for i, change in enumerate(backend.changes) if parse(change.since) <= at]
    for _, index in sorted(changes, reverse=True):
        if _states(backend.changes[index], field):
            return (name, "changes", index, field)
    if _states(backend, field):
        return (name, field)
    return _fact_at(backends, backend.extends, release, field) if backend.extends else None


def _states(layer: BackendFacts, field: str) -> bool:
    value: Any = getattr(layer, field)
    return value is not None and (value != [] or field == "head_sizes")


def _rule_at(backends: dict[str, Backend], name: str, rule: JointRule) -> Path | None:
    backend = backends[name]
    layers: list[tuple[Path, BackendFacts]] = [((name,), backend)]
    layers += [((name, "changes", index), change) for index, change in enumerate(backend.changes)]
    for path, layer in layers:
        for field in ("import_rules", "joint_rules"):
            for index, other in enumerate(getattr(layer, field) or []):
                if other is rule:
                    return (*path, field, index)
    for other_name in (*([backend.extends] if backend.extends else []), *backend.members):
        found = _rule_at(backends, other_name, rule)
        if found is not None:
            return found
    return None
