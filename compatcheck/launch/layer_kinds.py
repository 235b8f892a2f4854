"""A model configuration's attention layers, grouped by what a backend sees of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

NO_CACHE = frozenset(
    {
        "linear_attention",
        "mamba",
        "mamba2",
        "conv",
        "short_conv",
        "recurrent",
        "gdn",
        "kda",
        "mlp",
        "moe",
        "lightning_attention",
        "state_space",
    }
)
"""Kinds of layers that have no paged key-value cache: no attention backend is selected for them."""
RECURRENT = NO_CACHE - {"mlp", "moe"}
"""Those of them that keep a state: the engine makes them layers of a mamba backend."""
ATTENTION_FREE = frozenset({"falcon_mamba", "mamba", "mamba2"})
"""Model types without any attention (vllm/transformers_utils/model_arch_config_convertor.py@0.33.0)."""
_WINDOW_OFF = frozenset({"qwen2", "qwen2_moe", "qwen3", "qwen3_moe"})
"""Model types whose windows are used only where `use_sliding_window` says so, from `max_window_layers` on."""
SLIDING = frozenset({"sliding_attention", "sliding_window", "swa", "local", "local_attention", "hybrid_sliding"})
SPARSE = "sparse_attention"
"""Layers that see the blocks of the cache that an indexer picks (vllm/models/minimax_m3/nvidia/model.py@0.33.0)."""
_ATTENTION = SLIDING | {"hybrid", "sparse", "dense", "global", "full"}
"""Kinds of attention layers that are not called so."""
_LISTS = ("layer_types", "layers_block_type")
_PATTERN_LETTERS = {"*": "full_attention", "M": "mamba", "-": "mlp", "E": "moe"}


def layer_kinds(text: Mapping[str, Any]) -> dict[str, int | None]:
    """Return kind -> number of layers, in order of first appearance; None where the number is not stated.

    `text` is the text configuration. Kinds are full_attention, sliding_attention, linear_attention, or what the
    configuration calls them. Sources: `layer_types` of transformers, and the older fields of single families that
    vLLM's model files read (vllm/config/model.py:ModelConfig.get_num_layers_by_block_type@0.33.0).
    """
    count = _int(text.get("num_hidden_layers")) or _int(text.get("n_layer"))
    if text.get("model_type") in ATTENTION_FREE:
        return {"mamba": count}
    kinds = _listed(text, count)
    if kinds is None:
        kinds = _from_rules(text, count)
    return kinds


def not_known(text: Mapping[str, Any], kinds: Iterable[str]) -> list[str]:
    """Return what of the layers is not known: lists that name no kinds, and kinds that may or may not be attention."""
    lists = [text.get(name) for name in _LISTS]
    unread = [
        f"what {name} says of the layers"
        for name, value in zip(_LISTS, lists, strict=True)
        if value is not None and not (isinstance(value, list) and all(isinstance(item, str) for item in value))
    ]
    strange = [kind for kind in kinds if kind not in NO_CACHE | _ATTENTION and "attention" not in kind]
    return [*unread, *(f"what layers of kind {kind:.40} are" for kind in strange)]


def _listed(text: Mapping[str, Any], count: int | None) -> dict[str, int | None] | None:
    for name in _LISTS:
        names = _list(text, name)
        if names and all(isinstance(item, str) for item in names):
            return _count([_canonical(item) for item in (names[:count] if count else names)])
    pattern = text.get("hybrid_override_pattern")
    if isinstance(pattern, str) and pattern:
        return _count([_PATTERN_LETTERS.get(letter, letter) for letter in pattern if letter != "|"])
    numbers = _list(text, "hybrid_layer_pattern")  # MiMo-V2: 1 is a sliding layer
    if numbers:
        return _count(["sliding_attention" if item == 1 else "full_attention" for item in numbers])
    numbers = _list(text, "attn_type_list")  # MiniMax-Text-01: 0 is lightning attention
    if numbers:
        return _count(["full_attention" if item == 1 else "linear_attention" for item in numbers])
    sparse = text.get("sparse_attention_config")  # MiniMax-M3: 1 is a block-sparse layer
    if isinstance(sparse, Mapping) and _list(sparse, "sparse_attention_freq"):
        return _count(["full_attention" if item == 0 else SPARSE for item in _list(sparse, "sparse_attention_freq")])
    linear = text.get("linear_attn_config")  # Kimi-Linear and Kimi-K3
    if isinstance(linear, Mapping) and _list(linear, "full_attn_layers"):
        full = len(_list(linear, "full_attn_layers"))
        other = len(_list(linear, "kda_layers")) or (count - full if count else None)
        return {"linear_attention": other, "full_attention": full}
    return None


def _from_rules(text: Mapping[str, Any], count: int | None) -> dict[str, int | None]:
    for name in ("attn_layer_indices", "full_attn_idxs"):
        full = len(_list(text, name))
        if full:
            return {"linear_attention": count - full if count else None, "full_attention": full}
    every = _int(text.get("full_attention_interval")) or _int(text.get("attn_layer_period"))
    if every and count:
        full = count // every
        return {"linear_attention": count - full, "full_attention": full}
    window = _window(text)
    if window is None:
        return {"full_attention": count}
    last_full = _int(text.get("max_window_layers"))
    if text.get("model_type") in _WINDOW_OFF and last_full and count:
        full = min(last_full, count)
        return _count(["full_attention"] * full + ["sliding_attention"] * (count - full))
    pattern = text.get("sliding_window_pattern", text.get("_sliding_window_pattern"))
    if text.get("model_type") in ("gemma2", "gpt_oss"):  # every second layer, starting with a sliding one
        pattern = 2
    if isinstance(pattern, str) and pattern:  # EXAONE: LLLG
        letters = (pattern * (count // len(pattern) + 1))[:count] if count else pattern
        return _count(["sliding_attention" if letter == "L" else "full_attention" for letter in letters])
    step = _int(pattern)
    if step and step > 1:
        if not count:
            return {"sliding_attention": None, "full_attention": None}
        return {"sliding_attention": count - count // step, "full_attention": count // step}
    return {"sliding_attention": count}


def _window(text: Mapping[str, Any]) -> int | None:
    if text.get("use_sliding_window", text.get("model_type") not in _WINDOW_OFF) is False:
        return None
    return _int(text.get("sliding_window")) or None


def _canonical(name: str) -> str:
    if name == "attention":
        return "full_attention"
    return "sliding_attention" if name in SLIDING else name


def _count(names: Sequence[str]) -> dict[str, int | None]:
    counts: dict[str, int | None] = {}
    for name in names:
        counts[name] = (counts.get(name) or 0) + 1
    return counts


def _list(text: Mapping[str, Any], name: str) -> list[Any]:
    value = text.get(name)
    return value if isinstance(value, list) else []


def _int(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None
