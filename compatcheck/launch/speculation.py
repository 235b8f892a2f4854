"""What the class of --speculative-config refuses: keys that a release does not have, methods, and odd values.

Source: vllm/config/speculative.py:SpeculativeConfig and SpeculativeMethod@0.18.1 to @0.33.0, compared release by
release; what the class lacks is the first release with a name, and the first without it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from compatcheck.launch.flag_table import Kind
from compatcheck.launch.value_kinds import misfit
from compatcheck.matrix.versions import parse

_KEYS: dict[str, tuple[str | None, str | None]] = dict.fromkeys(
    (
        "code_revision",
        "disable_padded_drafter_batch",
        "draft_load_config",
        "draft_model_config",
        "draft_parallel_config",
        "draft_tensor_parallel_size",
        "enforce_eager",
        "max_model_len",
        "method",
        "model",
        "num_speculative_tokens",
        "parallel_drafting",
        "prompt_lookup_max",
        "prompt_lookup_min",
        "quantization",
        "rejection_sample_method",
        "revision",
        "suffix_decoding_max_cached_requests",
        "suffix_decoding_max_spec_factor",
        "suffix_decoding_max_tree_depth",
        "suffix_decoding_min_token_prob",
        "target_model_config",
        "target_parallel_config",
        "tensor_parallel_size",
        "use_local_argmax_reduction",
    ),
    (None, None),
) | {
    "attention_backend": ("0.21.0", None),
    "disable_eagle_block_drop": ("0.30.0", None),
    "disable_lookahead_block_hashes": ("0.33.0", None),
    "draft_lm_head_quantization": ("0.33.0", None),
    "draft_sample_method": ("0.21.0", None),
    "dspark_draft_topk": ("0.28.0", None),
    "enable_adaptive_verification": ("0.28.0", None),
    "fly_entropy_threshold": ("0.33.0", None),
    "fly_entropy_top_k": ("0.33.0", None),
    "fly_window_size": ("0.33.0", None),
    "index_share_for_mtp_iteration": ("0.29.0", None),
    "kv_cache_dtype": ("0.26.0", None),
    "moe_backend": ("0.19.1", None),
    "num_speculative_tokens_per_batch_size": ("0.24.0", None),
    "speculative_token_tree": (None, "0.21.0"),
    "synthetic_acceptance_length": ("0.20.0", None),
    "synthetic_acceptance_rate": ("0.19.1", "0.20.0"),
    "synthetic_acceptance_rates": ("0.20.0", None),
    "use_heterogeneous_vocab": ("0.25.0", None),
    "xpress_topc": ("0.33.0", None),
}
_METHODS: dict[str, tuple[str | None, str | None]] = dict.fromkeys(
    (
        "deepseek_mtp",
        "draft_model",
        "eagle",
        "eagle3",
        "ernie_mtp",
        "exaone_moe_mtp",
        "extract_hidden_states",
        "glm4_moe_lite_mtp",
        "glm4_moe_mtp",
        "glm_ocr_mtp",
        "longcat_flash_mtp",
        "mimo_mtp",
        "mtp",
        "nemotron_h_mtp",
        "ngram",
        "ngram_gpu",
        "pangu_ultra_moe_mtp",
        "qwen3_5_mtp",
        "qwen3_next_mtp",
        "step3p5_mtp",
        "suffix",
    ),
    (None, None),
) | {
    "bailing_hybrid_mtp": ("0.25.0", None),
    "bailing_hybrid_v3_mtp": ("0.28.0", None),
    "custom_class": ("0.22.1", None),
    "dflash": ("0.20.0", None),
    "dots3_note_mtp": ("0.28.0", None),
    "dspark": ("0.25.0", None),
    "exaone4_5_mtp": ("0.20.0", None),
    "gemma4_mtp": ("0.21.0", None),
    "glm5_next_mtp": ("0.30.0", None),
    "hy_v3_mtp": ("0.20.0", None),
    "hy_v4_mtp": ("0.29.0", None),
    "inkling_mtp": ("0.26.0", None),
    "kimi_k3_mtp": ("0.27.1", None),
    "medusa": (None, "0.33.0"),
    "mimo_v2_mtp": ("0.21.0", None),
    "minimax_m3_mtp": ("0.24.0", None),
    "mlp_speculator": (None, "0.33.0"),
    "qwen4_exp_mtp": ("0.29.0", None),
    "step5_mtp": ("0.33.0", None),
}
_TOKENS = Kind(kind="int", gt=0)


def refused_keys(config: Mapping[str, Any], release: str) -> list[str]:
    """Return the keys that the release's class does not have; the engine reads a hyphen as an underscore."""
    return [key for key in config if not takes_key(key, release)]


def takes_key(key: str, release: str) -> bool:
    """Return whether the release's class has a key."""
    return _has(_KEYS, str(key).replace("-", "_"), release)


def refused_value(config: Mapping[str, Any], release: str) -> str | None:
    """Return what the release's class refuses of the method, the model or the number of tokens."""
    said = {str(key).replace("-", "_"): value for key, value in config.items()}
    method, model = said.get("method"), said.get("model")
    if method is not None and not _has(_METHODS, method, release):
        return f"method has to be one that the release has, found {method!r:.60}"
    if model is not None and not isinstance(model, str):
        return f"model has to be text, found {model!r:.60}"
    tokens = said.get("num_speculative_tokens")
    wanted = misfit(_TOKENS, tokens)
    return f"num_speculative_tokens has to be {wanted}, found {tokens!r:.60}" if wanted is not None else None


def _has(spans: Mapping[str, tuple[str | None, str | None]], name: object, release: str) -> bool:
    if not isinstance(name, str) or name not in spans:
        return False
    since, until = spans[name]
    here = parse(release)
    return (since is None or parse(since) <= here) and (until is None or here < parse(until))
