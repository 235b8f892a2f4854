"""Environment variables that change what vLLM and FlashInfer do. Paths and UUIDs are withheld."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping

PATHS = (
    "CUDA_HOME",
    "CUDA_PATH",
    "FLASHINFER_CUBIN_DIR",
    "FLASHINFER_NVCC",
    "FLASHINFER_WORKSPACE_BASE",
    "FLASHINFER_EXTRA_CFLAGS",
    "FLASHINFER_EXTRA_CUDAFLAGS",
    "FLASHINFER_EXTRA_LDFLAGS",
    "LD_LIBRARY_PATH",
)
"""Variables whose value is a path or holds paths: only that they are set is recorded."""

VALUES = (
    "CUDA_DEVICE_ORDER",
    "CUDA_VISIBLE_DEVICES",
    "FLASHINFER_CUDA_ARCH_LIST",
    "FLASHINFER_DISABLE_JIT",
    "FLASHINFER_DISABLE_VERSION_CHECK",
    "FLASHINFER_NO_DOWNLOAD",
    "MAX_JOBS",
    "VLLM_ATTENTION_BACKEND",
    "VLLM_BATCH_INVARIANT",
    "VLLM_HAS_FLASHINFER_CUBIN",
    "VLLM_KV_CACHE_LAYOUT",
    "VLLM_USE_FLASHINFER_SAMPLER",
    "VLLM_USE_TRTLLM_ATTENTION",
)
"""Variables whose value decides something and says nothing about the machine."""

_LONGEST = 200
_INDICES = re.compile(r"[-0-9,\s]*\Z")


def collect_environment(environ: Mapping[str, str] | None = None) -> dict[str, str | None]:
    """Return the variables of `PATHS` and `VALUES` that are set, with None for a withheld value.

    A value is withheld where it holds a path separator, is longer than 200 characters, or
    (CUDA_VISIBLE_DEVICES) names GPUs by UUID.
    """
    given = os.environ if environ is None else environ
    found: dict[str, str | None] = {name: None for name in PATHS if name in given}
    for name in VALUES:
        if name not in given:
            continue
        value = given[name]
        private = "/" in value or "\\" in value or len(value) > _LONGEST or not value.isprintable()
        if name == "CUDA_VISIBLE_DEVICES" and not _INDICES.match(value):
            private = True
        found[name] = None if private else value
    return dict(sorted(found.items()))
