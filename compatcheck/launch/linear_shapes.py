"""The linear layers of a model as one rank holds them: their names in the checkpoint, K and N.

Source: the model files of vllm/model_executor/models@0.33.0 (qwen3.py, llama.py, deepseek_v2.py): query, key and value
are one layer, gate and up projections another; K is split for row-parallel layers (o_proj, down_proj), N for the rest.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from compatcheck.launch.experts import has_experts


class Shape(msgspec.Struct, frozen=True, kw_only=True):
    """One fused layer: the checkpoint's names of its parts, below `model.layers.N.`, and its sizes on a rank."""

    name: str
    parts: tuple[str, ...]
    in_features: int | None = None
    out_features: int | None = None

    @property
    def fused(self) -> str | None:
        """The engine's own name of a layer of several parts."""
        return f"{self.parts[0].rpartition('.')[0]}.{self.name.split()[-1]}" if len(self.parts) > 1 else None


def shapes_of(text: Mapping[str, Any], ranks: int, *, use_mla: bool) -> list[Shape]:
    """Return the layers that the text configuration describes. A size that it does not state is None.

    Experts are no linear layers here: the engine has other kernels for them (--moe-backend).
    """
    attention = _mla(text, ranks) if use_mla else _attention(text, ranks)
    return [*attention, *_mlp(text, ranks)]


def recurrent_shapes(text: Mapping[str, Any]) -> list[Shape]:
    """Return the projections of gated delta-net layers by name, without sizes.

    Source: vllm/model_executor/models/qwen3_next.py and qwen3_5.py@0.33.0. Checkpoints name the first as one or two.
    """
    if not str(text.get("model_type")).startswith(("qwen3_next", "qwen3_5")):
        return []
    whole = tuple(f"linear_attn.in_proj_{part}" for part in ("qkvz", "qkv", "z"))
    return [Shape(name="in_proj_qkvz", parts=whole), Shape(name="out_proj", parts=("linear_attn.out_proj",))]


def _attention(text: Mapping[str, Any], ranks: int) -> list[Shape]:
    hidden, heads = positive(text, "hidden_size"), positive(text, "num_attention_heads")
    kv = positive(text, "num_key_value_heads") or heads
    size = positive(text, "head_dim") or (hidden // heads if hidden and heads else None)
    own, own_kv = _split(heads, ranks), (max(1, kv // ranks) if kv else None)
    width = own * size if own and size else None
    both = width + 2 * own_kv * size if width and own_kv and size else None
    names = tuple(f"self_attn.{part}_proj" for part in "qkv")
    return [
        Shape(name="qkv_proj", parts=names, in_features=hidden, out_features=both),
        Shape(name="o_proj", parts=("self_attn.o_proj",), in_features=width, out_features=hidden),
    ]


def _mla(text: Mapping[str, Any], ranks: int) -> list[Shape]:
    hidden, heads = positive(text, "hidden_size"), _split(positive(text, "num_attention_heads"), ranks)
    lora, rope = positive(text, "kv_lora_rank"), positive(text, "qk_rope_head_dim")
    nope, value, q_lora = (positive(text, name) for name in ("qk_nope_head_dim", "v_head_dim", "q_lora_rank"))
    query = heads * (nope + rope) if heads and nope and rope else None
    both = heads * (nope + value) if heads and nope and value else None
    shapes: list[Shape] = []
    if q_lora:
        down = q_lora + lora + rope if lora and rope else None
        names = ("self_attn.q_a_proj", "self_attn.kv_a_proj_with_mqa")
        shapes.append(Shape(name="fused_qkv_a_proj", parts=names, in_features=hidden, out_features=down))
        shapes.append(Shape(name="q_b_proj", parts=("self_attn.q_b_proj",), in_features=q_lora, out_features=query))
    elif "q_lora_rank" in text:
        shapes.append(Shape(name="q_proj", parts=("self_attn.q_proj",), in_features=hidden, out_features=query))
    return [
        *shapes,
        Shape(name="kv_b_proj", parts=("self_attn.kv_b_proj",), in_features=lora, out_features=both),
        Shape(
            name="o_proj",
            parts=("self_attn.o_proj",),
            in_features=heads * value if heads and value else None,
            out_features=hidden,
        ),
    ]


def _mlp(text: Mapping[str, Any], ranks: int) -> list[Shape]:
    shapes: list[Shape] = []
    if not has_experts(text) or positive(text, "first_k_dense_replace"):
        shapes += _gated(text, "mlp", positive(text, "intermediate_size"), ranks)
    if has_experts(text):
        shared = positive(text, "shared_expert_intermediate_size")
        count, each = positive(text, "n_shared_experts"), positive(text, "moe_intermediate_size")
        if shared:
            shapes += _gated(text, "mlp.shared_expert", shared, ranks)
        elif count:
            shapes += _gated(text, "mlp.shared_experts", count * each if each else None, ranks)
    return shapes


def _gated(text: Mapping[str, Any], where: str, width: int | None, ranks: int) -> list[Shape]:
    hidden, own = positive(text, "hidden_size"), _split(width, ranks)
    prefix = "" if where == "mlp" else "shared "
    names = (f"{where}.gate_proj", f"{where}.up_proj")
    up = Shape(name=f"{prefix}gate_up_proj", parts=names, in_features=hidden, out_features=2 * own if own else None)
    return [up, Shape(name=f"{prefix}down_proj", parts=(f"{where}.down_proj",), in_features=own, out_features=hidden)]


def _split(size: int | None, ranks: int) -> int | None:
    return size // ranks if size and size % ranks == 0 else None


def positive(text: Mapping[str, Any], name: str) -> int | None:
    """Return a number of a configuration, where it is a whole one above 0."""
    value = text.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None
