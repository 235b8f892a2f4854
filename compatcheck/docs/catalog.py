"""Every code that a finding can carry, with what its page says."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from compatcheck.matrix.model import rules_of
from compatcheck.matrix.versions import InvalidVersion, Version, parse
from compatcheck.resolve.configuration import Configuration
from compatcheck.resolve.describe import describe_condition
from compatcheck.resolve.findings import NOT_ASKED, default_fix

if TYPE_CHECKING:
    from collections.abc import Iterator

    from compatcheck.matrix.linear_model import Linear
    from compatcheck.matrix.model import Backend, BackendChange, Engine, JointRule, Matrix, Rule, Source

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
    "selector-not-asked": (
        "The model does not ask the selector for these layers",
        "selection",
        "DeepSeek V4, V4.1 and MiniMax M3 pick the class of their sparse layers themselves, also a refused one.",
        "Nothing is to be done; the dense layers of the model still go through the selector.",
    ),
    "kernel-not-in-library": (
        "The installed FlashInfer does not have the kernel that the route needs",
        "init",
        "The engine's route calls a kernel that this FlashInfer version does not have yet, or no longer has.",
        "Install a FlashInfer version that has the kernel, if the engine's pin allows it.",
    ),
}
"""Findings that the resolver makes itself: title, when it bites, why, fix."""

BUILT_IN_LINEAR = {
    "no-linear-kernel": (
        "No kernel is left for the NVFP4 linear layer, or the one asked for is refused",
        "selection",
        "Every kernel of the order, or the one asked for, is refused by a gate of its own, whose words follow.",
        "Drop what was asked for: `compatcheck check --linear` with the same facts names what is picked without it.",
    ),
    "linear-backend-not-in-release": (
        "The release's command line does not know this value of --linear-backend",
        "config",
        "The option and its values came release by release; its parser refuses every other value.",
        "Use a release that has the value, or another way to choose the kernel.",
    ),
    "linear-gemm-env-not-in-release": (
        "The release does not know this value of VLLM_NVFP4_GEMM_BACKEND",
        "init",
        "Releases up to 0.23 read the variable, each with its own values, and refuse every other one.",
        "Write one of the release's values, or remove it; from 0.24 on use --linear-backend.",
    ),
    "linear-backend-not-for-layer": (
        "--linear-backend names no kernel for this layer, and the release picks as if it were not given",
        "selection",
        "The value is meant for layers of another quantisation or scheme; the release warns and walks its order.",
        "Leave it out, or name a value that has a kernel for the layer.",
    ),
    "linear-backend-overridden": (
        "VLLM_BATCH_INVARIANT overrides --linear-backend",
        "selection",
        "Batch invariance is decided before the option is looked at.",
        "Leave one of them out.",
    ),
}
"""The same, about linear layers."""

NOTES = frozenset({"linear-backend-not-for-layer", "linear-backend-overridden", NOT_ASKED})
"""Codes of findings that the resolver makes itself and that refuse nothing."""


class Entry(msgspec.Struct, kw_only=True):
    """One code. `kind` is rule, advisory, selector, combination, gate, library or built-in."""

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
    varies: str | None = None
    conditions: list[Any] = []
    linear: bool = False
    """Whether it speaks of linear layers."""


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
    for entry in (*_built_in(engine), *_selector(engine), *_rules(matrix)):
        found[entry.code] = entry
    _joint_rules(engine, found)
    _gates(engine, found)
    _refusals(matrix, found)
    return dict(sorted(found.items()))


def _built_in(engine: Engine) -> Iterator[Entry]:
    linear = BUILT_IN_LINEAR if engine.linear is not None else {}
    for code, (title, bites, why, fix) in {**BUILT_IN, **linear}.items():
        refuser = "package" if bites == "init" else "engine"
        yield Entry(
            code=code,
            title=title,
            kind="built-in",
            refuser=refuser,
            bites=bites,
            effect="note" if code in NOTES else "unsupported",
            words=_linear_words(engine.linear, code) if engine.linear is not None else [],
            versions=_linear_versions(engine, code),
            why=why,
            fix=fix,
            sources=engine.linear.sources if engine.linear is not None and code in linear else [],
            linear=code in linear,
        )


def _linear_versions(engine: Engine, code: str) -> list[str]:
    """Return from which release on a warning about --linear-backend is logged; nothing for other codes."""
    lines = {"linear-backend-not-for-layer": "ignored_words", "linear-backend-overridden": "overridden_words"}
    if engine.linear is None or code not in lines:
        return []
    since = [line.since for line in getattr(engine.linear, lines[code]) if line.since]
    return [f"{engine.title} >={min(since, key=parse)}"] if since else []


def _linear_words(linear: Linear, code: str) -> list[str]:
    """Return what the engine prints; a line that is only the gate's words says nothing more."""
    by_code = {
        "no-linear-kernel": [*linear.none_words, *linear.forced_words, *linear.scheme_words, *linear.unmatched_words],
        "linear-backend-not-for-layer": linear.ignored_words,
        "linear-backend-overridden": linear.overridden_words,
    }
    return [line.words for line in by_code.get(code, []) if line.words != "{reason}"]


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
            bites=rule.bites,
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
            conditions=[rule.when],
            linear=rule.kind == "linear",
        )


def _joint_rules(engine: Engine, found: dict[str, Entry]) -> None:
    spans: dict[str, dict[str, list[str]]] = {}
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
                        fix=rule.fix or _fix(rule),
                    )
                for words in (rule.words, *rule.more_words):
                    _add(entry.words, words)
                _add(entry.backends, name)
                spans.setdefault(rule.code, {}).setdefault(_span(rule, layer, backend), []).append(name)
                _add(entry.when, describe_condition(rule.when))
                _add(entry.conditions, rule.when)
                read = _at(layer.sources or backend.sources, rule.since or layer.since)
                for source in rule.sources or read:
                    _add(entry.sources, source)
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


def _span(rule: JointRule, layer: Backend | BackendChange, backend: Backend) -> str:
    """Return the releases in which a joint rule speaks, as a range; a later change of the rules ends it."""
    since = max((s for s in (rule.since, layer.since) if s), key=parse)
    later = [c.since for c in backend.changes if c.joint_rules is not None and parse(c.since) > parse(layer.since)]
    ends = [end for end in (rule.until, backend.until, *later) if end]
    return f">={since}" + (f",<{min(ends, key=parse)}" if ends else "")


def _at(sources: list[Source], since: str) -> list[Source]:
    """Leave out what was read in a release before the rule began, where something newer was read."""
    newer = [s for s in sources if (read := _version(s.ref)) is None or read >= parse(since)]
    return newer or sources


def _version(ref: str) -> Version | None:
    try:
        return parse(ref.rpartition("@")[2])
    except InvalidVersion:
        return None


def _gates(engine: Engine, found: dict[str, Entry]) -> None:
    """Add the gates of linear kernels; one code may stand on several kernels."""
    kernels = engine.linear.kernels if engine.linear is not None else {}
    for name, kernel in kernels.items():
        for gate in kernel.gates:
            entry = found.get(gate.code)
            if entry is None:
                entry = found[gate.code] = Entry(
                    code=gate.code,
                    title=f"A linear kernel is passed over: {gate.words}",
                    kind="gate",
                    refuser="engine",
                    bites="selection",
                    effect="unsupported",
                    why=gate.why or "The engine asks each kernel of its order whether it can run; this one says no.",
                    fix=gate.fix or "Nothing to do unless the kernel was asked for: the next of the order is taken.",
                    linear=True,
                )
            since = f" >={gate.since}" if gate.since else ""
            until = f" <{gate.until}" if gate.until else ""
            _add(entry.words, gate.words)
            _add(entry.when, f"{engine.title}{since}{until}: {describe_condition(gate.when)}")
            _add(entry.conditions, gate.when)
            for one in [name, *(n for n, k in kernels.items() if k.extends == name)]:
                _add(entry.kernels, one)
            for source in gate.sources or kernel.sources:
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
                    fix=refusal.fix or default_fix(kernel),
                    exception=refusal.exception,
                    linear=kernel.phase == "gemm",
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
