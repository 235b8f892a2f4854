"""The exact text that the engine itself would log or raise."""

from __future__ import annotations

from compatcheck.matrix.model import Engine, Matrix
from compatcheck.resolve.configuration import Configuration
from compatcheck.resolve.findings import NOT_ASKED
from compatcheck.resolve.verdict import Finding, Verdict

LINEAR_REFUSALS = ("no-linear-kernel", "linear-gemm-env-not-in-release")
"""Findings whose words are the engine's own where it builds no linear layer."""


def render(matrix: Matrix, verdict: Verdict, facts: Configuration) -> str:
    """Return the engine's error, or its line about the backend in use and, below it, the class that it loads.

    Source of the forms: vllm/platforms/cuda.py:CudaPlatformBase.get_attn_backend_cls@0.33.0.
    """
    config_error = config_refusal(verdict)
    if config_error is not None:
        return f"{config_error.exception or 'ValueError'}: {config_error.words}"
    engine = matrix.engines[str(facts.engine)]
    if facts.linear is not None and engine.linear is not None:
        if verdict.selected is not None:
            return engine.linear.selected_words.replace("{kernel}", verdict.selected)
        refused = next((f for f in verdict.findings if f.code in LINEAR_REFUSALS), None)
        return f"{refused.exception}: {refused.words}" if refused else ""
    if facts.backend is not None:
        if verdict.engine_accepts is False and not any(f.code == NOT_ASKED for f in verdict.findings):
            reasons = "[" + ", ".join(repr(reason) for reason in verdict.engine_reasons) + "]"
            text = engine.forced_words.replace("{backend}", facts.backend).replace("{reasons}", reasons)
            return f"ValueError: {text}"
        return f"Using AttentionBackendEnum.{facts.backend} backend.{_class(engine, facts.backend)}"
    if verdict.selected is None:
        rejected = ", ".join(f"{name}: [{', '.join(words)}]" for name, words in (verdict.rejected or {}).items())
        return f"ValueError: {engine.none_words} {selector_config(facts)}. Reasons: {{{rejected}}}."
    candidates = ", ".join(f"'{name}'" for name in verdict.candidates or ())
    line = f"Using {verdict.selected} attention backend out of potential backends: [{candidates}]."
    return line + _class(engine, verdict.selected)


def config_refusal(verdict: Verdict) -> Finding | None:
    """Return what stops the engine while it reads its configuration, where its words are known; else None."""
    refusals = (f for f in verdict.findings if f.effect == "unsupported")
    return next((f for f in refusals if f.bites == "config" and f.words), None)


def _class(engine: Engine, backend: str) -> str:
    """Return the class path that the engine's `get_attn_backend_cls` returns, on a line of its own."""
    entry = engine.backends.get(backend)
    return f"\n{entry.cls}" if entry is not None and entry.cls is not None else ""


def selector_config(facts: Configuration) -> str:
    """Return the selector's own print of what it was asked (AttentionSelectorConfig.__repr__@0.33.0)."""
    window = bool(facts.sliding_window)
    return (
        f"AttentionSelectorConfig(head_size={facts.head_size}, dtype=torch.{facts.dtype}, "
        f"kv_cache_dtype={facts.kv_cache_dtype}, block_size={facts.block_size}, use_mla={facts.use_mla}, "
        f"has_sink={facts.has_sink}, use_sparse={facts.use_sparse}, use_mm_prefix={facts.use_mm_prefix}, "
        f"use_per_head_quant_scales={facts.use_per_head_quant_scales}, "
        f"attn_type=AttentionType.{str(facts.attn_type).upper()}, has_sliding_window={window}, "
        f"use_non_causal={facts.use_non_causal}, use_batch_invariant={facts.use_batch_invariant}, "
        f"use_kv_connector={facts.use_kv_connector}, use_adaptive_verification={facts.use_adaptive_verification}, "
        f"use_pcp={facts.use_pcp}, use_dcp={facts.use_dcp}, use_rswa={facts.use_rswa})"
    )
