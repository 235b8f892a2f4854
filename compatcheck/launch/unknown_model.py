"""The verdict for a model of which nothing is known: whether it has MLA, or sparse attention, is not known either.

Without a word on it, a model is judged as one without MLA. Where the launch asks for what only models with MLA (or with
sparse attention) have, it is judged as such a model, and the answer says on what it rests.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from compatcheck.launch import findings
from compatcheck.resolve.configuration import Configuration
from compatcheck.resolve.verdict import Finding, FindingSource, Verdict

if TYPE_CHECKING:
    from compatcheck.matrix.load import LoadedMatrix

_ASKS = {"non_mla": "use_mla", "non_sparse": "use_sparse"}
"""The selector's question -> the field that has to be true for a backend that refuses models without it."""
_WORDS = {"use_mla": "MLA", "use_sparse": "sparse attention"}


class OpenVerdict(msgspec.Struct, frozen=True):
    """The configuration that was judged, its verdict, and what it rests on."""

    configuration: Configuration
    verdict: Verdict
    remarks: tuple[Finding, ...] = ()


def judge_unknown(loaded: LoadedMatrix, own: Configuration, name: str | None) -> OpenVerdict:
    """Return the verdict for a model that nobody knows; `own` says nothing of MLA."""
    plain = loaded.resolver.resolve(own, alternatives=False)
    if plain.verdict != "unsupported":
        return OpenVerdict(own, plain)
    case = _asked_for(loaded, own, plain)
    if case:
        changed, verdict = _resolve(loaded, own, case)
        for more in _asked_for(loaded, changed, verdict):
            changed, verdict = _resolve(loaded, changed, {more: True})
            case |= {more: True}
        if verdict.verdict == "unsupported" and changed.backend is None and "use_sparse" not in case:
            sparse, other = _resolve(loaded, changed, {"use_sparse": True})
            if other.verdict != "unsupported":
                changed, verdict, case = sparse, other, case | {"use_sparse": True}
        return OpenVerdict(changed, verdict, (_remark(name, own, case),))
    return OpenVerdict(own, plain)


def _resolve(loaded: LoadedMatrix, own: Configuration, case: dict[str, Any]) -> tuple[Configuration, Verdict]:
    changed = msgspec.structs.replace(own, **{f: v for f, v in case.items() if getattr(own, f) is None})
    return changed, loaded.resolver.resolve(changed, alternatives=False)


def _asked_for(loaded: LoadedMatrix, own: Configuration, verdict: Verdict) -> dict[str, Any]:
    """Return what the model has to have for what is asked: by the backend's own refusal, or by the cache's layout."""
    engine = loaded.matrix.engines[str(own.engine or "vllm").lower()]
    codes = {finding.code for finding in verdict.findings} if own.backend is not None else set()
    case: dict[str, Any] = {
        _ASKS[check.check]: True for check in engine.selector if check.check in _ASKS and check.code in codes
    }
    dtype = loaded.matrix.kv_cache_dtypes.get(str(own.kv_cache_dtype or "auto").lower())
    if dtype is not None and dtype.mla_only:
        case["use_mla"] = True
    return {field: value for field, value in case.items() if getattr(own, field) is None}


def _remark(name: str | None, own: Configuration, case: dict[str, Any]) -> Finding:
    what = " and ".join(_WORDS[field] for field in case)
    model = f"Nothing is known of {name}" if name else "The launch does not say which model it serves"
    asked = own.backend or f"a {own.kv_cache_dtype} cache"
    return findings.make(
        "launch-model-unknown",
        "The answer rests on what the model is",
        f"{model}. Judged as a model with {what}, since {asked} is refused for any other.",
        effect="note",
        bites="selection",
        fix="Give --model with the model's folder or config.json, or state --use-mla.",
        source=FindingSource(ref="vllm/v1/attention/backend.py:AttentionBackend.validate_configuration@0.33.0"),
    )
