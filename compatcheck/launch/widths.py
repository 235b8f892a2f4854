"""Widths that tensor parallelism has to divide beside the heads: of the MLP, of the experts, and of the vocabulary.

Sources: vllm/model_executor/layers/linear.py:MergedColumnParallelLinear and RowParallelLinear, which assert that the
ranks divide their sizes, and vocab_parallel_embedding.py:VocabParallelEmbedding, which pads the vocabulary to a
multiple of 64 first; the same in every release from 0.18.1 to 0.33.0.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from compatcheck.launch import findings
from compatcheck.launch.experts import has_experts
from compatcheck.launch.linear_shapes import positive
from compatcheck.resolve.verdict import Finding, FindingSource

_PADDED_TO = 64
_DENSE = frozenset(
    {
        "cohere",
        "cohere2",
        "gemma",
        "gemma2",
        "gemma3_text",
        "glm4",
        "granite",
        "internlm2",
        "llama",
        "mistral",
        "phi3",
        "qwen2",
        "qwen3",
    }
)
"""Text configurations of which every layer's MLP is `intermediate_size` wide and split among the ranks."""


def width_finding(name: str | None, text: Mapping[str, Any], ranks: int) -> Finding | None:
    """Return the finding for an MLP that the ranks do not divide, where it is known that they have to."""
    width = positive(text, "intermediate_size")
    if width is None or width % ranks == 0 or text.get("model_type") not in _DENSE or has_experts(text):
        return None
    return findings.make(
        "launch-width-not-divisible",
        "The MLP does not divide among the ranks",
        f"{name}'s MLP is {width} wide, which does not divide by a tensor parallel size of {ranks}.",
        effect="unsupported",
        bites="init",
        required=f"intermediate_size divisible by {ranks}",
        actual=f"intermediate_size={width}",
        fix="Choose a tensor parallel size that divides the width of the MLP.",
        exception="AssertionError",
        source=FindingSource(ref="vllm/model_executor/layers/linear.py:MergedColumnParallelLinear.__init__@0.33.0"),
    )


def open_widths(text: Mapping[str, Any], ranks: int) -> list[str]:
    """Return what is open of the widths that the ranks do not divide.

    Layers of a model may stay whole, experts be spread rather than split, and the vocabulary be kept on every rank.
    """
    vocabulary = positive(text, "vocab_size")
    padded = None if vocabulary is None else -(-vocabulary // _PADDED_TO) * _PADDED_TO
    names = ["moe_intermediate_size"] if has_experts(text) else ["intermediate_size"]
    sizes = [(name, positive(text, name)) for name in names] + [("padded vocab_size", padded)]
    return [
        f"whether {ranks} ranks take {name} {size}, which they do not divide"
        for name, size in sizes
        if size is not None and size % ranks
    ]
