"""Every code that a finding can carry, with what its page says."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from compatcheck.matrix.model import rules_of
from compatcheck.matrix.versions import parse
from compatcheck.resolve.describe import describe_condition

if TYPE_CHECKING:
    from collections.abc import Iterator

    from compatcheck.matrix.model import Backend, BackendChange, Engine, Matrix, Source

BUILT_IN = {
    "kv-cache-dtype-not-in-release": (
        "The release's --kv-cache-dtype option does not know this dtype",
        "config",
        "Each release has its own list of KV-cache dtypes; its option parser refuses every other name.",
        "Use a release that accepts the dtype, or another dtype.",
    ),
    "backend-not-in-release": (
        "The release has no backend of this name",
        "config",
        "Backends come and go with releases; a name of another release is refused.",
        "Use a release that has the backend, or another backend.",
    ),
    "backend-unimportable": (
        "The engine lists this backend but cannot import it",
        "selection",
        "The name is in the engine's list of backends, and its module is not in the wheel.",
        "Choose another backend.",
    ),
    "no-valid-backend": (
        "No attention backend is left after every candidate was refused",
        "selection",
        "The selector tried every backend of its order, and each refused.",
        "See the alternatives that `compatcheck check` prints: another KV-cache dtype, release or GPU.",
    ),
    "kernel-not-in-library": (
        "The installed FlashInfer does not have the kernel that the route needs",
        "init",
        "The engine's route calls a kernel that this FlashInfer version does not have yet, or no longer has.",
        "Install a FlashInfer version that has the kernel, if the engine's pin allows it.",
    ),
}
"""Findings that the resolver makes itself: title, when it bites, why, fix."""


class Entry(msgspec.Struct, kw_only=True):
    """One code. `kind` is rule, advisory, selector, combination, library or built-in."""

    code: str
    title: str
    kind: str
    refuser: str
    bites: str
    effect: str
    when: list[str] = []
    why: str | None = None
    fix: str | None = None
    words: list[str] = []
    exception: str | None = None
    versions: list[str] = []
    """Ranges, each with the axis that it is on: 'vLLM >=0.28'."""
    subject: str | None = None
    backends: list[str] = []
    kernels: list[str] = []
    sources: list[Source] = []
    history: list[str] = []
    recheck: str | None = None
    confirmed: str = "reading"
    conditions: list[Any] = []


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
    for entry in (*_built_in(), *_selector(engine), *_rules(matrix)):
        found[entry.code] = entry
    _joint_rules(engine, found)
    _refusals(matrix, found)
    return dict(sorted(found.items()))


def _built_in() -> Iterator[Entry]:
    for code, (title, bites, why, fix) in BUILT_IN.items():
        refuser = "package" if bites == "init" else "engine"
        yield Entry(
            code=code,
            title=title,
            kind="built-in",
            refuser=refuser,
            bites=bites,
            effect="unsupported",
            why=why,
            fix=fix,
        )


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
            why=f"One of the questions that {engine.title}'s selector asks of every {of}: `{check.check}`.",
            fix="Choose a backend that grants it: see the tables of attention backends.",
        )


def _rules(matrix: Matrix) -> Iterator[Entry]:
    for code, rule in matrix.rules.items():
        yield Entry(
            code=code,
            title=rule.title,
            kind="advisory" if rule.refuser == "advisory" else "rule",
            refuser=rule.refuser,
            bites=rule.bites,
            effect=rule.effect,
            when=[describe_condition(rule.when)],
            why=rule.why,
            fix=rule.fix,
            words=rule.words,
            exception=rule.exception,
            versions=[f"{AXIS_NAMES[rule.axis]} {rule.versions}"] if rule.versions else [],
            subject=rule.subject,
            kernels=rule.kernels,
            sources=rule.sources,
            history=rule.history,
            recheck=rule.recheck,
            confirmed=rule.confirmed,
            conditions=[rule.when],
        )


def _joint_rules(engine: Engine, found: dict[str, Entry]) -> None:
    for name, backend in engine.backends.items():
        layers: list[Backend | BackendChange] = [backend, *backend.changes]
        layers.sort(key=lambda layer: parse(layer.since))
        for layer in layers:
            for rule in rules_of(layer):
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
                        fix=rule.fix or "Choose another backend, or change one of the facts above.",
                    )
                for words in (rule.words, *rule.more_words):
                    _add(entry.words, words)
                _add(entry.backends, name)
                _add(entry.when, describe_condition(rule.when))
                _add(entry.conditions, rule.when)
                for source in rule.sources or layer.sources or backend.sources:
                    _add(entry.sources, source)


def _refusals(matrix: Matrix, found: dict[str, Entry]) -> None:
    for name, kernel in matrix.kernels.items():
        for refusal in kernel.refusals:
            entry = found.get(refusal.code)
            if entry is None:
                compile_error = refusal.outcome == "compile-error"
                entry = found[refusal.code] = Entry(
                    code=refusal.code,
                    title=f"{kernel.title}: {'does not compile' if compile_error else 'refused by the library'}",
                    kind="library",
                    refuser="library",
                    bites=refusal.bites,
                    effect="unsupported",
                    why=refusal.why,
                    fix=refusal.fix or "Choose another backend or KV-cache dtype.",
                    exception=refusal.exception,
                )
            _add(entry.kernels, name)
            _add(entry.words, f"/{refusal.match}/")
            _add(entry.when, describe_condition(refusal.when))
            _add(entry.conditions, refusal.when)
            if refusal.versions:
                _add(entry.versions, f"{_library(matrix, kernel.library)} {refusal.versions}")
            for source in refusal.sources or kernel.sources:
                _add(entry.sources, source)


def _library(matrix: Matrix, name: str) -> str:
    library = matrix.libraries.get(name)
    return library.title if library else name


def _add(items: list[Any], item: Any) -> None:
    if item not in items:
        items.append(item)


def mentions(condition: Any, prefix: str, names: frozenset[str] = frozenset()) -> bool:
    """Return whether a condition names a value that starts with `prefix`, or one of these fields."""
    if isinstance(condition, dict):
        return any(key in names or mentions(value, prefix, names) for key, value in condition.items())
    if isinstance(condition, list):
        return any(mentions(item, prefix, names) for item in condition)
    return isinstance(condition, str) and condition.startswith(prefix)
