"""Head counts and head sizes of a model, which families keep under names of their own or leave to a default.

Source: vllm/transformers_utils/model_arch_config_convertor.py:MODEL_ARCH_CONFIG_CONVERTORS@0.33.0 and
vllm/transformers_utils/config.py:CONFIG_FIELD_ALIASES@0.33.0.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_KV_HEADS = (
    "n_head_kv",
    "num_kv_heads",
    "num_key_value_heads",
    "multi_query_group_num",
    "num_attention_groups",
)
"""Falcon, Falcon, most, ChatGLM, Step 3.5."""
DEFAULTS: dict[str, dict[str, Any]] = {
    "gemma3_text": {
        "num_hidden_layers": 26,
        "num_attention_heads": 8,
        "num_key_value_heads": 4,
        "head_dim": 256,
        "sliding_window": 4096,
        "sliding_window_pattern": 6,
    },
    "gemma2": {"head_dim": 256, "sliding_window": 4096},
}
"""What transformers' class has where the file says nothing (configuration_gemma3.py:Gemma3TextConfig, Gemma2Config)."""


def with_defaults(text: dict[str, Any]) -> dict[str, Any]:
    """Return a text configuration with the defaults of its class that decide about attention."""
    defaults = DEFAULTS.get(str(text.get("model_type")), {})
    known = {"sliding_window_pattern", "_sliding_window_pattern", "layer_types"} & text.keys()
    return {
        **{k: v for k, v in defaults.items() if k not in text and not (k == "sliding_window_pattern" and known)},
        **text,
    }


def query_heads(text: Mapping[str, Any]) -> int | None:
    """Return the number of attention heads of the whole model, where the configuration says it."""
    return _first(text, ("num_attention_heads", "n_head", "n_heads"))


def kv_heads(text: Mapping[str, Any], heads: int) -> int | None:
    """Return the number of KV heads of the whole model; None where it differs from layer to layer."""
    kind = text.get("model_type")
    nested = text.get("attn_config")
    if kind == "dbrx" and isinstance(nested, Mapping):
        return _first(nested, ("kv_n_heads",)) or heads
    if kind == "falcon" and not text.get("new_decoder_architecture") and text.get("multi_query", True):
        return 1
    if kind == "gpt_bigcode" and text.get("multi_query", True):
        return 1
    if kind == "nemotron-nas":
        return _of_blocks(text, heads)
    return _first(text, _KV_HEADS) or heads


def head_size(text: Mapping[str, Any], otherwise: int | None) -> int | None:
    """Return the head size of a family that names it otherwise, else what was found already."""
    if text.get("model_type") == "zamba2":
        return _first(text, ("attention_head_dim",))
    if _first(text, ("param_sink_number",)) is None:
        return otherwise
    # openPangu's layers with sink parameters: K heads of two parts, V heads of v_channels
    parts = [_first(text, (name,)) for name in ("qk_nope_dim", "qk_rope_dim")]
    return sum(n for n in parts if n is not None) if None not in parts else otherwise


def _of_blocks(text: Mapping[str, Any], heads: int) -> int | None:
    """Return the KV heads of Nemotron-NAS, whose blocks say how many query heads share one."""
    groups: set[int] = set()
    blocks = text.get("block_configs")
    for block in blocks if isinstance(blocks, list) else []:
        attention = block.get("attention") if isinstance(block, Mapping) else None
        if isinstance(attention, Mapping) and not attention.get("no_op"):
            size = attention.get("n_heads_in_group")
            if isinstance(size, int) and size > 0:
                groups.add(size)
    return heads // groups.pop() if len(groups) == 1 else None


def _first(config: Mapping[str, Any], names: tuple[str, ...]) -> int | None:
    found = (config.get(name) for name in names)
    return next((n for n in found if isinstance(n, int) and not isinstance(n, bool) and n > 0), None)
