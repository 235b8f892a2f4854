"""Cells per second of vLLM's own validate_configuration, for `benchmarks.batch`.

Needs a Python in which the release's `vllm` imports (a GPU host with vLLM installed will do); compatcheck itself never
imports it. Prints the number that `python -m benchmarks.batch NUMBER` takes.

Run: python benchmarks/vllm_validate.py
"""

from __future__ import annotations

import inspect
import time
from itertools import product
from typing import Any

KV = ("auto", "float16", "bfloat16", "fp8", "fp8_e4m3", "fp8_e5m2", "nvfp4")
HEADS = (64, 80, 96, 128, 192, 256, 512)
BLOCKS = (None, 16, 32, 64, 128)


def main() -> None:
    """Time the calls alone over every CUDA backend that imports."""
    import torch
    from vllm.config import VllmConfig, set_current_vllm_config
    from vllm.platforms import current_platform
    from vllm.v1.attention.backends.registry import AttentionBackendEnum

    capability = current_platform.get_device_capability()
    classes: list[Any] = []
    for member in AttentionBackendEnum:
        if not member.name.startswith(("ROCM", "XPU", "CPU", "AMX")):
            try:
                classes.append(member.get_class())
            except Exception as error:
                print(f"# {member.name}: {type(error).__name__}")
    calls, spent = 0, 0.0
    with set_current_vllm_config(VllmConfig()):
        for backend, kv, head, block in product(classes, KV, HEADS, BLOCKS):
            asked = {
                "head_size": head,
                "dtype": torch.bfloat16,
                "kv_cache_dtype": kv,
                "block_size": block,
                "use_mla": backend.is_mla(),
                "has_sink": False,
                "use_sparse": backend.is_sparse(),
                "use_mm_prefix": False,
                "use_per_head_quant_scales": False,
                "device_capability": capability,
                "attn_type": "decoder",
            }
            known = inspect.signature(backend.validate_configuration).parameters
            given = {name: value for name, value in asked.items() if name in known}
            start = time.perf_counter()
            backend.validate_configuration(**given)
            spent += time.perf_counter() - start
            calls += 1
    print(f"{calls / spent:.0f}")


if __name__ == "__main__":
    main()
