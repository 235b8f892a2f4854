"""Layers that read another layer's cache, with a scale for each token and head.

Each layer's implementation sets the scales to 1 when it first looks at them. A layer that shares a cache does so at the
first real request, after the layer that owns the cache has written scales there.

Sources: vllm/v1/attention/backends/triton_attn.py:TritonAttentionImpl._ensure_scale_caches@0.20.0 to @0.33.0; the
shared layers of gemma3n.py and gemma4.py in vllm/model_executor/models@0.33.0.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from compatcheck.launch import findings
from compatcheck.launch.model_config import text_config
from compatcheck.resolve.verdict import Finding, FindingSource

_DEFAULT = {"gemma3n_text": 15}
"""What transformers' class has where the file says nothing (configuration_gemma3n.py:Gemma3nTextConfig)."""
_SEEN_IN = ("gemma3n", "gemma4")


def shared_finding(name: str | None, config: Mapping[str, Any] | None, dtype: object) -> Finding | None:
    """Return the advisory for a model with shared layers and such a cache; None for any other."""
    if config is None or not str(dtype).endswith("_per_token_head"):
        return None
    text = text_config(config)
    kind = str(text.get("model_type"))
    shared = text.get("num_kv_shared_layers", _DEFAULT.get(kind, 0))
    if not isinstance(shared, int) or shared <= 0 or not kind.startswith(_SEEN_IN):
        return None
    return findings.make(
        "launch-shared-layers-scales",
        "Layers that share a cache reset its scales at the first request",
        f"{name} has {shared} layers that read another layer's cache. With {dtype} each sets the scales to 1 when it "
        "is first used, after they were written: the first batch after a start gets wrong tokens.",
        effect="degraded",
        bites="silent",
        refuser="advisory",
        fix="Discard the first batch after a start (as many requests at once as --max-num-seqs), or use "
        "--kv-cache-dtype fp8.",
        confirmed="reported",
        recheck="a newer vLLM: https://github.com/vllm-project/vllm/pull/51091",
        source=FindingSource(
            "vllm/v1/attention/backends/triton_attn.py:TritonAttentionImpl._ensure_scale_caches@0.33.0"
        ),
        more=(FindingSource("https://github.com/vllm-project/vllm/pull/51091", kind="thread"),),
    )
