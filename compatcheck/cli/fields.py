"""Configuration fields as options: names, kinds and values. No command-line library is needed for any of it."""

from __future__ import annotations

from typing import Any

from compatcheck.resolve.configuration import FIELDS, Configuration

ALIASES = {
    "engine_version": ("--vllm",),
    "flashinfer_version": ("--flashinfer",),
    "torch_version": ("--torch",),
    "cuda_version": ("--cuda",),
    "sm": ("--gpu",),
}
"""Shorter names of some fields' options."""

FLAGS = frozenset(
    name
    for name in FIELDS
    if name.startswith(("use_", "has_"))
    or name in ("cubins_available", "slot_mapping_helpers", "flashinfer_imports", "can_compile")
)
"""Fields whose option takes no value: --use-mla, --no-use-mla."""

INTEGERS = frozenset(
    {
        "head_size",
        "block_size",
        "num_qo_heads",
        "num_kv_heads",
        "kv_lora_rank",
        "qk_nope_head_dim",
        "qk_rope_head_dim",
        "v_head_dim",
        "index_topk",
        "sliding_window",
        "flash_attn_version",
        "in_features",
        "out_features",
    }
)
"""Fields whose option takes a whole number."""


def option_of(field: str) -> str:
    """Return a field's option: head_size -> --head-size."""
    return "--" + field.replace("_", "-")


def configuration_of(values: dict[str, Any]) -> Configuration:
    """Return the configuration of the options that were given. Raises `ValueError` for a malformed list."""
    fields = {name: values[name] for name in FIELDS if values.get(name) is not None}
    if "compress_ratios" in fields:
        try:
            fields["compress_ratios"] = tuple(int(part) for part in fields["compress_ratios"].split(","))
        except ValueError as error:
            raise ValueError("--compress-ratios takes whole numbers with commas, such as 4,128") from error
    if "disabled_kernels" in fields:
        fields["disabled_kernels"] = tuple(name for name in fields["disabled_kernels"].split(",") if name)
    return Configuration(**fields)
