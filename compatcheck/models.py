"""What the engine makes of a model's configuration: MLA or not, and the size of one cached head."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from compatcheck.matrix.model import Matrix
from compatcheck.matrix.versions import parse, place
from compatcheck.resolve.backend import in_release


class ModelAnswer(msgspec.Struct, frozen=True):
    """Whether the engine treats a model as MLA, and the head size in elements that its KV cache holds."""

    is_mla: bool
    head_size: int | None


def is_mla(matrix: Matrix, engine_version: str, config: Mapping[str, Any], engine: str = "vllm") -> ModelAnswer:
    """Return what a release makes of a Hugging Face text configuration.

    MLA takes a listed model type *and* a latent rank (`kv_lora_rank`), or, for compressed caches (`compress_ratios`), a
    `head_dim`: the type alone does not make a model MLA. The cached head of an MLA model is the latent with the rotary
    part. Source: vllm/transformers_utils/model_arch_config_convertor.py:ModelArchConfigConvertorBase@0.33.0.
    """
    entry = matrix.engines[engine]
    release, _ = place(engine_version, tuple(sorted(entry.releases, key=parse)))
    covering = [e for e in entry.mla_model_types if in_release(e.since, e.until, release)]
    listed = {model_type for e in covering for model_type in e.types}
    compressed = bool(config.get("compress_ratios"))
    deciding = config.get("head_dim") if compressed else config.get("kv_lora_rank")
    if deciding is None or config.get("model_type") not in listed:
        return ModelAnswer(False, _head_size(config))
    rotary = 0 if compressed else int(config.get("qk_rope_head_dim") or 0)
    return ModelAnswer(True, int(deciding) + rotary)


def _head_size(config: Mapping[str, Any]) -> int | None:
    for name in ("head_dim", "hidden_size_per_head"):
        if config.get(name):
            return int(config[name])
    heads, width = config.get("num_attention_heads"), config.get("hidden_size")
    return int(width) // int(heads) if heads and width else None
