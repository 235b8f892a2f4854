"""Whether a model has experts, as the engine counts them.

Sources: vllm/transformers_utils/model_arch_config_convertor.py:ModelArchConfigConvertorBase.get_num_experts@0.26.0;
what the classes of transformers 5.24.0 have where the file says nothing (models/*/configuration_*.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_COUNTS = ("num_experts", "moe_num_experts", "n_routed_experts", "num_local_experts")
"""In the engine's order: the first that the configuration has counts."""
_BY_DEFAULT = frozenset(
    {
        "afmoe",
        "bailing_hybrid",
        "cohere2_moe",
        "deepseek_v2",
        "deepseek_v3",
        "deepseek_v32",
        "deepseek_v4",
        "ernie4_5_moe",
        "ernie4_5_vl_moe_text",
        "exaone_moe",
        "flex_olmo",
        "glm4_moe",
        "glm4_moe_lite",
        "glm4v_moe_text",
        "glm_moe_dsa",
        "gpt_oss",
        "granitemoe",
        "granitemoeshared",
        "hunyuan_v1_moe",
        "jamba",
        "jetmoe",
        "kimi_k2",
        "kimi_linear",
        "lfm2_moe",
        "llama4_text",
        "longcat_flash",
        "mimo_v2_flash",
        "minimax",
        "minimax_m2",
        "minimax_m3_vl_text",
        "mixtral",
        "nemotron_h",
        "olmoe",
        "phimoe",
        "qwen2_moe",
        "qwen3_5_moe_text",
        "qwen3_moe",
        "qwen3_next",
        "qwen3_omni_moe_text",
        "qwen3_vl_moe_text",
        "step3p5",
    }
)
"""Types of text configurations whose class has experts by default."""


def has_experts(text: Mapping[str, Any]) -> bool:
    """Return whether a text configuration is that of a mixture of experts."""
    for name in _COUNTS:
        if name in text:
            count = text[name]
            first = count[0] if isinstance(count, list) and count else count
            return isinstance(first, int) and first > 0
    blocks = text.get("block_configs")
    if isinstance(blocks, list) and any(isinstance(b, Mapping) and b.get("block_type") == "moe" for b in blocks):
        return True
    return text.get("model_type") in _BY_DEFAULT
