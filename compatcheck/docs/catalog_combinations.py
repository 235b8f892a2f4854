"""The combinations that backends refuse, as entries of the catalogue."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from compatcheck.docs.catalog_entry import Entry, add
from compatcheck.matrix.model import rules_of
from compatcheck.matrix.versions import InvalidVersion, Version, parse
from compatcheck.resolve.configuration import Configuration
from compatcheck.resolve.describe import describe_condition

if TYPE_CHECKING:
    from compatcheck.matrix.model import Backend, BackendChange, Engine, JointRule, Source


def add_combinations(engine: Engine, found: dict[str, Entry]) -> None:
    """Add the rules of backends to the entries; one code may stand in several backends."""
    spans: dict[str, dict[str, list[str]]] = {}
    for name, backend in engine.backends.items():
        layers: list[Backend | BackendChange] = [backend, *backend.changes]
        layers.sort(key=lambda layer: parse(layer.since))
        for layer in layers:
            for rule in rules_of(layer):
                span = _span(rule, layer, backend)
                if span is None:
                    continue  # a later change of the rules came before it could speak
                entry = found.get(rule.code)
                if entry is None:
                    entry = found[rule.code] = Entry(
                        code=rule.code,
                        title=rule.title or rule.words,
                        kind="combination",
                        refuser="package" if rule in (layer.import_rules or ()) else "engine",
                        bites="selection",
                        effect="unsupported",
                        why=rule.why
                        or "The backend refuses this combination, though it may grant each part by itself.",
                        fix=rule.fix or _fix(rule),
                    )
                for words in (rule.words, *rule.more_words):
                    add(entry.words, words)
                add(entry.backends, name)
                spans.setdefault(rule.code, {}).setdefault(span, []).append(name)
                add(entry.when, describe_condition(rule.when))
                add(entry.conditions, rule.when)
                read = _at(layer.sources or backend.sources, rule.since or layer.since)
                for source in rule.sources or read:
                    add(entry.sources, source)
    for code, ranges in spans.items():
        several = len(ranges) > 1
        for span, names in ranges.items():
            of = f" ({', '.join(dict.fromkeys(names))})" if several and len(found[code].backends) > 1 else ""
            found[code].versions.append(f"{engine.title} {span}{of}")


def _fix(rule: JointRule) -> str:
    """Return what helps where the matrix says nothing of its own: the words may, else which facts refuse."""
    if "nstall" in rule.words:
        return f"{rule.words}, or choose another backend."
    fields = sorted(field for field in _fields(rule.when) if field.strip("`") in Configuration.__struct_fields__)
    return f"Choose another backend, or other values of {', '.join(fields)}." if fields else "Choose another backend."


def _fields(condition: Any) -> set[str]:
    if isinstance(condition, list):
        return {field for item in condition for field in _fields(item)}
    found: set[str] = set()
    for key, value in condition.items():
        found |= _fields(value) if key in ("all_of", "any_of", "not") else {f"`{key}`"}
    return found


def _span(rule: JointRule, layer: Backend | BackendChange, backend: Backend) -> str | None:
    """Return the releases in which a joint rule speaks, as a range; a later change of the rules ends it.

    None where there is no such release.
    """
    since = max((s for s in (rule.since, layer.since) if s), key=parse)
    later = [c.since for c in backend.changes if c.joint_rules is not None and parse(c.since) > parse(layer.since)]
    ends = [end for end in (rule.until, backend.until, *later) if end]
    if not ends:
        return f">={since}"
    until = min(ends, key=parse)
    return f">={since},<{until}" if parse(since) < parse(until) else None


def _at(sources: list[Source], since: str) -> list[Source]:
    """Leave out what was read in a release before the rule began, where something newer was read."""
    newer = [s for s in sources if (read := _version(s.ref)) is None or read >= parse(since)]
    return newer or sources


def _version(ref: str) -> Version | None:
    try:
        return parse(ref.rpartition("@")[2])
    except InvalidVersion:
        return None
