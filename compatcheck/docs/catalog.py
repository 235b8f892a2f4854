"""Every code that a finding can carry, with what its page says."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from compatcheck.docs.catalog_built_in import built_in
from compatcheck.docs.catalog_combinations import add_combinations
from compatcheck.docs.catalog_entry import Entry
from compatcheck.docs.catalog_kernels import add_gates, add_refusals
from compatcheck.resolve.describe import describe_bites, describe_condition

if TYPE_CHECKING:
    from collections.abc import Iterator

    from compatcheck.matrix.model import Engine, Matrix, Rule

AXIS_NAMES = {
    "engine_version": "vLLM",
    "flashinfer_version": "FlashInfer",
    "torch_version": "PyTorch",
    "cuda_version": "CUDA",
}


def catalog(matrix: Matrix, engine_name: str = "vllm") -> dict[str, Entry]:
    """Return every code, sorted."""
    found: dict[str, Entry] = {}
    engine = matrix.engines[engine_name]
    for entry in (*built_in(engine), *_selector(engine), *_rules(matrix)):
        found[entry.code] = entry
    add_combinations(engine, found)
    add_gates(engine, found)
    add_refusals(matrix, found)
    return dict(sorted(found.items()))


def _selector(engine: Engine) -> Iterator[Entry]:
    checks = [(c, "attention backend") for c in engine.selector if c.check not in ("imports", "joint_rules")]
    checks += [(c, "MLA prefill backend") for c in engine.prefill_selector]
    for check, of in checks:
        since = [f"{engine.title} >={check.since}"] if check.since else []
        until = [f"{engine.title} <{check.until}"] if check.until else []
        yield Entry(
            code=check.code,
            title=f"The selector refuses the {of}: {check.words}",
            kind="selector",
            refuser="engine",
            bites="selection",
            effect="unsupported",
            words=[check.words],
            versions=since + until,
            sources=engine.selector_sources if check in engine.selector else engine.prefill_selector_sources,
            why=f"One of the questions that {engine.title}'s selector asks of every {of}: `{check.check}`.",
            fix="Choose a backend that grants it: see the tables of attention backends.",
        )


def _bounds(rule: Rule) -> list[str]:
    """Return the versions of a rule as one text: its own range, and those that its condition asks for outright."""
    own = [(rule.axis, rule.versions)] if rule.versions else []
    asked = [(axis, value) for axis, value in rule.when.items() if axis in AXIS_NAMES and isinstance(value, str)]
    said = " and ".join(f"{AXIS_NAMES[axis]} {value}" for axis, value in (*own, *asked))
    return [said] if said else []


def _rules(matrix: Matrix) -> Iterator[Entry]:
    for code, rule in matrix.rules.items():
        yield Entry(
            code=code,
            title=rule.title,
            kind="advisory" if rule.refuser == "advisory" else "rule",
            refuser=rule.refuser,
            bites=describe_bites(rule.bites),
            effect=rule.effect,
            when=[describe_condition(rule.when)],
            why=rule.why,
            fix=rule.fix,
            words=rule.words,
            exception=rule.exception,
            versions=_bounds(rule),
            subject=rule.subject,
            kernels=rule.kernels,
            sources=rule.sources,
            history=rule.history,
            recheck=rule.recheck,
            confirmed=rule.confirmed,
            varies=rule.varies,
            symptom=rule.symptom,
            conditions=[rule.when],
            linear=rule.kind == "linear",
        )


def mentions(condition: Any, prefix: str, names: frozenset[str] = frozenset()) -> bool:
    """Return whether a condition names a value that starts with `prefix`, or one of these fields."""
    if isinstance(condition, dict):
        return any(key in names or mentions(value, prefix, names) for key, value in condition.items())
    if isinstance(condition, list):
        return any(mentions(item, prefix, names) for item in condition)
    return isinstance(condition, str) and condition.startswith(prefix)
