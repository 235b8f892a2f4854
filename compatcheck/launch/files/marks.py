"""What a text has in it that may hold a launch, before any reader looks at it."""

from __future__ import annotations

from compatcheck.launch.files import kserve, llm_d_values, production_stack, ray_serve
from compatcheck.launch.programs import TELLING

MARKS = (
    *(*ray_serve.MARKS, "engine_kwargs", "LLMConfig"),
    *(kserve.MARK, kserve.SERVER, llm_d_values.MARK, production_stack.MARK),
    *TELLING,
)
"""Words of files that need not name vLLM."""


def may_launch(text: str) -> bool:
    """Return whether a text names vLLM, or what starts it without naming it."""
    return "vllm" in text.lower() or any(mark in text for mark in MARKS)
