"""VLLM_BATCH_INVARIANT with recurrent layers: none of their backends supports it.

Sources: vllm/v1/attention/selector.py:_cached_get_mamba_attn_backend@0.20.0 to @0.33.0; no backend of gdn_attn.py,
mamba1_attn.py, mamba2_attn.py, linear_attn.py or short_conv_attn.py answers supports_batch_invariance otherwise than
AttentionBackend does. Before 0.20 nobody asked.
"""

from __future__ import annotations

from collections.abc import Sequence

from compatcheck.launch import findings
from compatcheck.launch.layer_kinds import RECURRENT
from compatcheck.launch.model import Layer
from compatcheck.matrix.versions import parse
from compatcheck.resolve.verdict import Finding, FindingSource

ASKED_SINCE = "0.20.0"
_OWN_BACKEND_SINCE = {"bailing": "0.25.0"}
"""Start of a model type -> since when its layers name their backend themselves, so that the selector is not asked."""
_GDN = ("qwen3_next", "qwen3_5", "kimi_linear", "kimi_k3", "olmo_hybrid")
_BY_KIND = {"gdn": "GDN_ATTN", "kda": "GDN_ATTN", "conv": "SHORT_CONV_ATTN", "short_conv": "SHORT_CONV_ATTN"}
_MAMBA1 = ("falcon_mamba", "jamba")


def batch_invariance_finding(
    name: str | None, model_type: object, layers: Sequence[Layer], invariant: object, release: str
) -> Finding | None:
    """Return the finding for batch invariance and a model with recurrent layers; None where nobody refuses."""
    recurrent = [layer.kind for layer in layers if layer.kind in RECURRENT]
    if not invariant or not recurrent or parse(release) < parse(ASKED_SINCE):
        return None
    kind = str(model_type)
    if any(kind.startswith(start) and parse(release) >= parse(since) for start, since in _OWN_BACKEND_SINCE.items()):
        return None
    backend = _backend(kind, recurrent[0])
    return findings.make(
        "launch-batch-invariant-recurrent",
        "Batch-invariant mode does not exist for recurrent layers",
        f"VLLM_BATCH_INVARIANT is set, and {name} has {recurrent[0]} layers: vLLM {release} has no backend for them "
        "that supports it.",
        effect="unsupported",
        bites="init",
        why="The selector asks the backend of mamba, gated delta-net, linear attention and short convolution layers "
        "too, and all inherit the answer no.",
        fix="Unset VLLM_BATCH_INVARIANT, or serve a model of attention layers only.",
        required="a model without recurrent layers",
        actual=f"VLLM_BATCH_INVARIANT=1, {recurrent[0]} layers",
        words=f"VLLM batch_invariant mode is not supported for {backend}." if backend else None,
        exception="RuntimeError",
        confirmed="reported",
        recheck="a newer vLLM: https://github.com/vllm-project/vllm/pull/49827",
        source=FindingSource("vllm/v1/attention/selector.py:_cached_get_mamba_attn_backend@0.33.0"),
        more=(
            FindingSource("vllm/v1/attention/selector.py:_cached_get_mamba_attn_backend@0.20.0"),
            FindingSource("https://github.com/vllm-project/vllm/issues/42960", kind="thread"),
        ),
    )


def _backend(model_type: str, kind: str) -> str | None:
    """Return the name in the engine's message, where it is known for this family."""
    if model_type.startswith(_GDN):
        return "GDN_ATTN"
    if model_type.startswith("minimax"):
        return "LINEAR_ATTN"
    if kind in ("mamba", "mamba2"):
        return "MAMBA1_ATTN" if model_type in _MAMBA1 or (kind, model_type) == ("mamba", "mamba") else "MAMBA2_ATTN"
    return _BY_KIND.get(kind)
