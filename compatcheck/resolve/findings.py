"""Findings in words: who refuses, what was required, what was found, what to do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from compatcheck.matrix.model import Backend, Kernel, Refusal, Source, rules_of
from compatcheck.resolve.backend import FLAG_OF_FIELD, BackendProgram, Check
from compatcheck.resolve.decided import decided_at
from compatcheck.resolve.describe import describe_flag, describe_grants
from compatcheck.resolve.engine import EngineProgram, Selection
from compatcheck.resolve.judgement import Judgement, Said
from compatcheck.resolve.verdict import Finding, FindingSource
from compatcheck.resolve.words import fill

if TYPE_CHECKING:
    from compatcheck.matrix.load import LoadedMatrix
    from compatcheck.resolve.rules import RuleProgram

NOT_ASKED = "selector-not-asked"
"""The code of the note for a refusal by the selector that the model never meets."""

_GRANTED = {"head_size": "head_sizes", "kv_cache_dtype": "kv_cache_dtypes", "block_size": "block_sizes"}
_LISTED = {"dtype": "dtypes", "attn_type": "attn_types"}


def sources(items: list[Source]) -> tuple[FindingSource, ...]:
    """Return a finding's sources."""
    return tuple(FindingSource(ref=s.ref, kind=s.kind, note=s.note) for s in items)


class FindingFactory:
    """Makes findings, each once for the same facts."""

    def __init__(self, loaded: LoadedMatrix) -> None:
        self._loaded = loaded
        self._rules: dict[str, Finding] = {}

    # -------------------------------------------------------------------------------- the selector

    def from_judgement(
        self, engine: EngineProgram, judgement: Judgement, facts: Any, only: list[Check] | None = None
    ) -> list[Finding]:
        """Return a finding for each refusal of one backend, or only for some of them."""
        findings = judgement.findings.get(engine)
        if findings is None:
            unimportable = judgement.words and not judgement.refusals
            findings = judgement.findings[engine] = (
                [self._unimportable(engine, judgement, facts)]
                if unimportable
                else [self._from_check(engine, judgement.backend, said, facts) for said in judgement.refusals]
            )
        if only is None:
            return findings
        return [f for f, said in zip(findings, judgement.refusals, strict=True) if said.check in only]

    def _from_check(self, engine: EngineProgram, backend: str, said: Said, facts: Any) -> Finding:
        known = said.findings.get((engine, backend))
        if known is not None:
            return known
        check, words = said.check, str(said.words)
        required, actual = self._values(engine.program(backend), check, facts)
        title = f"{engine.engine.title} {engine.release}"
        entry = engine.engine.backends[backend]
        at = decided_at(engine.engine.backends, backend, engine.release, check)
        rule = check.rule
        finding = said.findings[engine, backend] = Finding(
            code=check.code,
            name=(rule.title if rule else None) or words,
            refuser="package" if check.imports else "engine",
            bites="selection",
            effect="unsupported",
            message=_sentence(f"{title}'s selector refuses {backend}", words, required, actual),
            words=words,
            required=required,
            actual=actual,
            why=rule.why if rule else None,
            fix=rule.fix if rule else None,
            history=_history(entry, check),
            sources=sources((rule.sources if rule and rule.sources else entry.sources) or entry.sources),
            line=self._line(("engines", str(facts.engine), "backends", *at)),
            backend=backend,
        )
        return finding

    def _values(self, program: BackendProgram, check: Check, facts: Any) -> tuple[str | None, str | None]:
        """Return what a check requires and what it found, as text."""
        code = check.code
        if check.rule is not None:
            named = [f for f in sorted(check.fields) if getattr(facts, f, None) is not None and f in check.rule.when]
            return None, ", ".join(f"{f}={getattr(facts, f)}" for f in named) or None
        field = code.removeprefix("selector-").replace("-", "_")
        if field in _GRANTED:
            return describe_grants(program.facts[_GRANTED[field]]), f"{field}={getattr(facts, field)}"
        if field in _LISTED:
            return ", ".join(program.facts[_LISTED[field]] or []), f"{field}={getattr(facts, field)}"
        if field == "sm":
            return describe_flag(program.facts["sms"], "any SM"), f"sm={facts.sm}"
        if field in FLAG_OF_FIELD:
            return describe_flag(program.facts[FLAG_OF_FIELD[field]], "any"), f"{field}={getattr(facts, field)}"
        return None, None

    def _unimportable(self, engine: EngineProgram, judgement: Judgement, facts: Any) -> Finding:
        return Finding(
            code="backend-unimportable",
            name="The engine lists this backend but cannot import it",
            refuser="engine",
            bites="selection",
            effect="unsupported",
            message=f"{engine.engine.title} {engine.release} lists {judgement.backend} but cannot import it: "
            f"{judgement.words[0]}",
            words=judgement.words[0],
            fix="Choose another backend.",
            line=self._line(("engines", str(facts.engine), "backends", judgement.backend)),
            backend=judgement.backend,
        )

    def nothing_selected(self, engine: EngineProgram, selection: Selection, facts: Any) -> Finding:
        """Return the finding for a configuration that no backend takes."""
        refused = "; ".join(f"{name}: {', '.join(words)}" for name, words in selection.rejected.items())
        return Finding(
            code="no-valid-backend",
            name="No valid attention backend",
            refuser="engine",
            bites="selection",
            effect="unsupported",
            message=f"{engine.engine.title} {engine.release} finds no attention backend for this configuration "
            f"on {f'SM {facts.sm}' if facts.sm else 'any GPU'}. {refused}",
            words=engine.engine.none_words,
            exception="ValueError",
            fix="See the alternatives: another KV-cache dtype, release or GPU.",
        )

    # ---------------------------------------------------------------------------- not in the release

    def kv_dtype_not_in_release(self, engine: EngineProgram, facts: Any) -> Finding:
        """Return the finding for a KV-cache dtype that this release's option does not accept."""
        since = [entry.since for entry in engine.engine.kv_cache_dtypes if facts.kv_cache_dtype in entry.values]
        when = f"It is accepted since {since[0]}." if since else "No release in the matrix accepts it."
        return Finding(
            code="kv-cache-dtype-not-in-release",
            name="KV-cache dtype unknown to this release",
            refuser="engine",
            bites="config",
            effect="unsupported",
            message=f"{engine.engine.title} {engine.release} does not accept "
            f"--kv-cache-dtype {facts.kv_cache_dtype}. {when}",
            required=", ".join(engine.kv_cache_dtypes),
            actual=f"kv_cache_dtype={facts.kv_cache_dtype}",
            fix=f"Use {engine.engine.title} >= {since[0]}, or another KV-cache dtype."
            if since
            else "Use another KV-cache dtype.",
            line=self._line(("engines", str(facts.engine), "kv_cache_dtypes")),
        )

    def backend_not_in_release(self, engine: EngineProgram, facts: Any) -> Finding:
        """Return the finding for a backend that this release does not have."""
        entry: Backend = engine.engine.backends[facts.backend]
        gone = entry.until is not None and engine.release not in (entry.since,) and facts.backend not in engine.backends
        when = f"since {entry.since}" + (f" until before {entry.until}" if entry.until and gone else "")
        return Finding(
            code="backend-not-in-release",
            name="Backend unknown to this release",
            refuser="engine",
            bites="config",
            effect="unsupported",
            message=f"{engine.engine.title} {engine.release} has no backend {facts.backend}; "
            f"the matrix knows it {when}.",
            required=when,
            actual=f"engine_version={facts.engine_version}",
            fix=f"Use a release that has it ({when}), or another backend.",
            line=self._line(("engines", str(facts.engine), "backends", facts.backend)),
            backend=facts.backend,
        )

    def not_asked(self, engine: EngineProgram, judgement: Judgement, facts: Any) -> Finding:
        """Return the note for a refusal that never comes: the model makes its layers without the selector."""
        entry = engine.engine.backends[judgement.backend]
        words = "; ".join(judgement.words)
        return Finding(
            code=NOT_ASKED,
            name="The model does not ask the selector",
            refuser="engine",
            bites="selection",
            effect="note",
            message=f"{engine.engine.title} {engine.release}'s selector would refuse {judgement.backend} ({words}), "
            "but the model makes these layers itself and does not ask it.",
            why=f"The class is {entry.cls}." if entry.cls else None,
            sources=sources(entry.sources),
            line=self._line(("engines", str(facts.engine), "backends", judgement.backend)),
            backend=judgement.backend,
        )

    # -------------------------------------------------------------------------------- rules, kernels

    def from_rule(self, program: RuleProgram, facts: Any) -> Finding:
        """Return the finding of a rule that holds."""
        code, rule, bites = program.code, program.rule, program.bites(facts)
        words = fill(rule.words[0], facts) if rule.words and not rule.words[0].startswith("/") else None
        key = f"{code}|{words}|{bites}"
        finding = self._rules.get(key)
        if finding is None:
            finding = self._rules[key] = Finding(
                code=code,
                name=rule.title,
                refuser=rule.refuser,
                bites=bites,
                effect=rule.effect,
                message=f"{rule.title}. {rule.why}",
                words=words,
                required=f"{rule.axis} outside {rule.versions}" if rule.versions else None,
                why=rule.why,
                fix=rule.fix,
                exception=rule.exception,
                history=tuple(rule.history),
                recheck=rule.recheck,
                confirmed=rule.confirmed,
                sources=sources(rule.sources),
                line=self._line(("rules", code)),
            )
        return finding

    def from_refusal(self, id_: str, kernel: Kernel, refusal: Refusal, facts: Any) -> Finding:
        """Return the finding for a refusal that the library declares."""
        effect = "unsupported"
        verb = "does not compile" if refusal.outcome == "compile-error" else "refuses"
        return Finding(
            code=refusal.code,
            name=f"{id_} {verb}",
            refuser="library",
            bites=refusal.bites,
            effect=effect,
            message=f"{id_} {verb} this call in FlashInfer {facts.flashinfer_version}: "
            f"{refusal.exception} matching {refusal.match!r}.",
            words=refusal.match,
            actual=f"flashinfer_version={facts.flashinfer_version}",
            why=refusal.why,
            fix=refusal.fix or default_fix(kernel),
            exception=refusal.exception,
            sources=sources(refusal.sources or kernel.sources),
            line=self._line(("kernels", id_)),
            kernel=id_,
        )

    def kernel_missing(self, id_: str, kernel: Kernel, facts: Any) -> Finding:
        """Return the finding for a kernel that this version of the library does not have."""
        return Finding(
            code="kernel-not-in-library",
            name=f"{id_} is not in this FlashInfer",
            refuser="package",
            bites="init",
            effect="unsupported",
            message=f"{id_} needs FlashInfer >= {kernel.since}; found {facts.flashinfer_version}.",
            required=f"flashinfer >= {kernel.since}",
            actual=f"flashinfer_version={facts.flashinfer_version}",
            fix=f"pip install 'flashinfer-python>={kernel.since}' if the engine's pin allows it.",
            sources=sources(kernel.sources),
            line=self._line(("kernels", id_)),
            kernel=id_,
        )

    def _line(self, path: tuple[str | int, ...]) -> str | None:
        return self._loaded.line(path)


def default_fix(kernel: Kernel) -> str:
    """Return what to do about a refusal by a library kernel that says nothing of its own."""
    if kernel.phase == "gemm":
        return "Choose another kernel with --linear-backend, or leave the option out."
    return "Choose another backend or KV-cache dtype."


def _history(backend: Backend, check: Check) -> tuple[str, ...]:
    """Return how the backend's answer to this check changed from release to release, oldest first."""
    if check.rule is not None:
        changes = [(change.since, rules_of(change)) for change in backend.changes]
        layers = [(backend.since, rules_of(backend)), *changes]
        rules = [(since, rule) for since, rules in layers for rule in rules if rule.code == check.code]
        said = tuple(f"since {rule.since or since}: {rule.words}" for since, rule in rules)
        return said if len(said) > 1 or (rules and rules[0][1].since) else ()
    field = check.code.removeprefix("selector-").replace("-", "_")
    if field in _GRANTED:
        key = _GRANTED[field]
        steps = [(c.since, describe_grants(getattr(c, key))) for c in backend.changes if getattr(c, key) is not None]
        first = [(backend.since, describe_grants(getattr(backend, key)))] if getattr(backend, key) is not None else []
    elif field == "sm" or field in FLAG_OF_FIELD:
        key = FLAG_OF_FIELD.get(field, "sms")
        steps = [
            (c.since, describe_flag(getattr(c, key), "any")) for c in backend.changes if getattr(c, key) is not None
        ]
        first = (
            [(backend.since, describe_flag(getattr(backend, key), "any"))] if getattr(backend, key) is not None else []
        )
    else:
        return ()
    return tuple(f"since {since}: {what}" for since, what in [*first, *steps]) if steps else ()


def _sentence(who: str, words: str, required: str | None, actual: str | None) -> str:
    text = f"{who}: {words}"
    if required and actual:
        return f"{text}. Required: {required}; found: {actual}."
    return f"{text}; found: {actual}." if actual else f"{text}."
