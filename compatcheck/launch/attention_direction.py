"""Models whose tokens see later ones too: their layers are encoder-only attention, which few backends take."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from compatcheck.launch.model_names import words_of

_ENCODERS = frozenset({"bert", "roberta", "xlm-roberta", "modernbert", "distilbert", "nomic_bert", "camembert", "gte"})
_READ_IS_CAUSAL = frozenset(
    {
        "apertus",
        "deepseek_v2",
        "deepseek_v3",
        "deepseek_v32",
        "gemma3",
        "gemma3_text",
        "llama",
        "mistral",
        "qwen2",
        "qwen3",
        "qwen3_next",
    }
)
"""Model types whose file asks the configuration for `is_causal`.

Sources: vllm/model_executor/models/{llama,qwen2,qwen3,qwen3_next,gemma3,apertus,deepseek_v2}.py@0.33.0.
"""
_BIDIRECTIONAL = frozenset(
    {
        "LlamaBidirectionalForSequenceClassification",
        "LlamaBidirectionalModel",
        "LlamaNemotronVLForSequenceClassification",
        "LlamaNemotronVLModel",
        "VoyageQwen3BidirectionalEmbedModel",
    }
)
"""Architectures that set `is_causal` to false (vllm/model_executor/models/config.py:MODELS_CONFIG_MAP@0.33.0)."""
_FOLLOW_BIDIRECTIONAL = frozenset({"Gemma3TextModel"})
"""Architectures that turn `use_bidirectional_attention` into `is_causal`."""


def encoder_only(config: Mapping[str, Any], text: Mapping[str, Any]) -> bool | None:
    """Return whether a model's attention is encoder-only; None where the model's file decides and is not known."""
    model_type = str(text.get("model_type") or config.get("model_type") or "")
    if config.get("model_type") in _ENCODERS or model_type in _ENCODERS:
        return True
    architectures = frozenset(words_of(config.get("architectures")))
    causal = text.get("is_causal", config.get("is_causal"))
    if architectures & _BIDIRECTIONAL:
        return True
    both_ways = text.get("use_bidirectional_attention", config.get("use_bidirectional_attention"))
    if architectures & _FOLLOW_BIDIRECTIONAL and isinstance(both_ways, bool):
        return both_ways
    if causal is False:
        return True if model_type in _READ_IS_CAUSAL else None
    if both_ways is True and causal is None:
        return None if not architectures or model_type not in _READ_IS_CAUSAL else False
    return False
