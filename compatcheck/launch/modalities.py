"""Whether a launch takes no images, sounds or videos, so that the model is served as one of text only."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_TAKES: dict[str, frozenset[str]] = {
    "bagel": frozenset({"image"}),
    "diffusion_gemma": frozenset({"image", "video"}),
    "gemma3": frozenset({"image"}),
    "gemma4": frozenset({"image", "video"}),
    "gemma4_unified": frozenset({"image", "video"}),
    "molmo2": frozenset({"image", "video"}),
    "moondream3": frozenset({"image"}),
    "paligemma": frozenset({"image"}),
}
"""Model type -> what its prompts may hold besides text (get_supported_mm_limits of each model's file, 0.33.0)."""


def text_only(config: Mapping[str, Any], limits: Mapping[str, Any]) -> bool | None:
    """Return whether --limit-mm-per-prompt leaves text only; None where the model's inputs are not known.

    A modality that is not named may come 999 times (vllm/config/multimodal.py:MultiModalConfig.get_limit_per_prompt).
    """
    none = {name for name, limit in limits.items() if (limit.get("count") if isinstance(limit, dict) else limit) == 0}
    if not none:
        return False
    kind = str(config.get("model_type"))
    takes = _TAKES.get(kind)
    if takes is None:
        return None
    if config.get("audio_config"):
        takes |= {"audio"}
    return takes <= none
