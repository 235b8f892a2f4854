"""What can be explained of a backend: its facts at one release, and how each came to be what it is."""

from __future__ import annotations

from typing import Any

from compatcheck.explain.entry import Entry
from compatcheck.matrix.load import LoadedMatrix
from compatcheck.matrix.model import Backend, BackendFacts, Engine
from compatcheck.matrix.versions import parse, place
from compatcheck.resolve.backend import FLAG_OF_FIELD, in_release, merge
from compatcheck.resolve.describe import describe_flag, describe_grants
from compatcheck.resolve.findings import sources

_GRANTS = {"kv_cache_dtypes": "KV-cache dtypes", "head_sizes": "head sizes", "block_sizes": "block sizes"}
_LISTS = {"dtypes": "dtypes", "attn_types": "attention types"}
_FLAGS = {name: name.replace("_", " ") for name in FLAG_OF_FIELD.values()} | {"non_causal_dcp": "non-causal under DCP"}
_PLAIN = {"mla": "MLA", "sparse": "sparse"}


def backend_entry(
    name: str, engine: Engine, backend_name: str, loaded: LoadedMatrix, version: str | None = None
) -> Entry:
    """Return the entry of a backend at a release: the one asked for, else the newest that has the backend."""
    backend = engine.backends[backend_name]
    releases = tuple(sorted(engine.releases, key=parse))
    having = [release for release in releases if in_release(backend.since, backend.until, release)]
    at = place(version, releases)[0] if version is not None else (having or releases)[-1]
    facts = [("since", backend.since)]
    if backend.until:
        facts.append(("until before", backend.until))
    if at in having:
        facts.append(("as of", f"{engine.title} {at}"))
        merged = merge(engine.backends, backend_name, at, engine.defaults)
        facts += [(label, text) for label, text in _facts(merged)]
    else:
        facts.append(("as of", f"{engine.title} {at}: not there"))
    return Entry(
        id=backend_name,
        kind="backend",
        title=f"{engine.title} backend {backend_name}: {backend.title}",
        facts=tuple(facts),
        history=tuple(_history(backend)),
        sources=sources([*backend.sources, *(s for change in backend.changes for s in change.sources)]),
        line=loaded.line(("engines", name, "backends", backend_name)),
    )


def _facts(merged: dict[str, Any]) -> list[tuple[str, str]]:
    found = [("SMs", describe_flag(merged["sms"], "any"))]
    found += [(label, ", ".join(merged[field] or [])) for field, label in _LISTS.items()]
    found += [(label, describe_grants(merged[field])) for field, label in _GRANTS.items()]
    found += [(label, "only") for field, label in _PLAIN.items() if merged[field]]
    found += [(label, describe_flag(merged[field], "yes")) for field, label in _FLAGS.items() if merged[field]]
    return [(label, text) for label, text in found if text]


def _history(backend: Backend) -> list[str]:
    """Return what the first release had of the facts that changed later, and what each change made of them."""
    changes = sorted(backend.changes, key=lambda change: parse(change.since))
    later = {
        field for change in changes for field in BackendFacts.__struct_fields__ if getattr(change, field) is not None
    }
    first = _step(backend, [field for field in BackendFacts.__struct_fields__ if field in later])
    steps = [(change.since, _step(change, list(BackendFacts.__struct_fields__))) for change in changes]
    return [f"since {since}: {text}" for since, text in [(backend.since, first), *steps] if text]


def _step(layer: BackendFacts, fields: list[str]) -> str:
    said = [_said(field, getattr(layer, field)) for field in fields if getattr(layer, field) is not None]
    return "; ".join(text for text in said if text)


def _said(field: str, value: Any) -> str | None:
    if field == "sms":
        return f"SMs: {describe_flag(value, 'any')}"
    if field in _GRANTS:
        return f"{_GRANTS[field]}: {describe_grants(value)}"
    if field in _LISTS:
        return f"{_LISTS[field]}: {', '.join(value)}"
    if field in _FLAGS:
        return f"{_FLAGS[field]}: {describe_flag(value, 'yes')}"
    if field in ("joint_rules", "import_rules"):
        return f"refuses: {', '.join(dict.fromkeys(rule.code for rule in value))}" if value else None
    return None
