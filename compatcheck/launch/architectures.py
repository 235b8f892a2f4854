"""Whether a release implements a model: its architecture in the registry of that release, read from the wheels."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from compatcheck.launch.flag_table import architecture_history, has_architecture
from compatcheck.launch.model_names import words_of

_OF_TYPE = {
    "deepseek_v4": "DeepseekV4ForCausalLM",
    "deepseek_v41": "DeepseekV41ForCausalLM",
    "diffusion_gemma": "DiffusionGemmaForBlockDiffusion",
    "gemma4": "Gemma4ForConditionalGeneration",
    "gemma4_unified": "Gemma4UnifiedForConditionalGeneration",
    "kimi_k3": "KimiK3ForConditionalGeneration",
    "minimax_m3_vl": "MiniMaxM3SparseForConditionalGeneration",
}
"""Model types younger than the first covered release -> the architecture of their checkpoints."""
_HEADS = ("ForSequenceClassification", "ForTokenClassification", "ForRewardModel", "ForTextEncoding", "Model")
"""Endings that the engine reads as ForCausalLM (vllm/model_executor/models/registry.py:_normalize_arch@0.33.0)."""


def not_implemented(config: Mapping[str, Any], release: str) -> str | None:
    """Return what is open where a release's registry has none of a model's architectures, or the model names none.

    The engine then falls back to the implementation of transformers, which may or may not run the model.
    """
    named = words_of(config.get("architectures"))
    of_type = _OF_TYPE.get(str(config.get("model_type")))
    names = named or ([of_type] if of_type else [])
    if not named and not (isinstance(config.get("model_type"), str) and config["model_type"]):
        return "which model it is (its configuration has neither architectures nor model_type)"
    if not names or any(has_architecture(one, release) for name in names for one in _spellings(name)):
        return None
    spans = [span for one in _spellings(names[0]) for span in architecture_history(one)]
    since = next((since for since, _ in spans if since is not None), None)
    until = next((until for _, until in reversed(spans) if until is not None), None)
    told = f"vLLM {since} brought it" if since else f"vLLM {until} dropped it" if until else "no covered release has it"
    return f"whether vLLM {release} runs {names[0]} ({told})"


def _spellings(name: str) -> list[str]:
    return [name, *(name.removesuffix(end) + "ForCausalLM" for end in _HEADS if name.endswith(end))]
