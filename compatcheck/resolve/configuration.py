"""One configuration to be judged: the fields, how they are written, what is assumed where one is missing."""

from __future__ import annotations

from typing import Any

import msgspec


class Configuration(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """The facts a verdict depends on. None means not given; see `NULLABLE` for fields where it means "none".

    Head sizes and ranks are in elements, block sizes in tokens. Head counts are what
    one rank holds, after tensor parallelism, as the selector and the kernels see them: without it, the model's own.
    `linear` asks about a quantised linear layer instead of attention: `in_features` (K) and `out_features` (N) are
    what one rank holds, after tensor parallelism.
    """

    engine: str | None = None
    engine_version: str | None = None
    flashinfer_version: str | None = None
    torch_version: str | None = None
    cuda_version: str | None = None
    sm: str | int | float | None = None
    backend: str | None = None
    dtype: str | None = None
    kv_cache_dtype: str | None = None
    head_size: int | None = None
    block_size: int | None = None
    use_mla: bool | None = None
    use_sparse: bool | None = None
    has_sink: bool | None = None
    num_qo_heads: int | None = None
    num_kv_heads: int | None = None
    kv_lora_rank: int | None = None
    qk_nope_head_dim: int | None = None
    qk_rope_head_dim: int | None = None
    v_head_dim: int | None = None
    index_topk: int | None = None
    compress_ratios: tuple[int, ...] | None = None
    sliding_window: int | bool | None = None
    use_mm_prefix: bool | None = None
    use_non_causal: bool | None = None
    use_dcp: bool | None = None
    use_per_head_quant_scales: bool | None = None
    use_batch_invariant: bool | None = None
    use_kv_connector: bool | None = None
    attn_type: str | None = None
    cubins_available: bool | None = None
    use_pcp: bool | None = None
    use_rswa: bool | None = None
    use_adaptive_verification: bool | None = None
    use_trtllm_attention: bool | None = None
    use_prefill_query_quantization: bool | None = None
    mla_prefill_backend: str | None = None
    """Forced MLA prefill backend."""
    use_spec_decode: bool | None = None
    """Whether the engine drafts tokens and verifies several of a request at once, by whatever method."""
    cudagraph_mode: str | None = None
    """The engine's cudagraph_mode; with FULL and the names that begin with it the graphs of decodes hold attention."""
    use_v2_model_runner: bool | None = None
    """Whether the V2 model runner serves the model; None: as the release takes it for most models."""
    flash_attn_version: int | None = None
    model_type: str | None = None
    weight_quantization: str | None = None
    has_flashinfer: bool | None = None
    has_hpc: bool | None = None
    """Whether the module hpc can be imported; the engine installs none, and no default is taken."""
    slot_mapping_helpers: bool | None = None
    """Whether the installed FlashInfer really has the two helpers; a probed host knows, a version only suggests."""
    flashinfer_imports: bool | None = None
    """False where `import flashinfer` raises, because a kernel package beside it is of another version."""
    can_compile: bool | None = None
    """Whether FlashInfer finds nvcc, ninja and a C++ compiler to build its kernels with; a probed host knows."""
    has_jit_cache: bool | None = None
    """Whether a flashinfer-jit-cache that FlashInfer uses is installed: kernels built ahead."""
    linear: str | None = None
    linear_backend: str | None = None
    nvfp4_gemm_backend: str | None = None
    """VLLM_NVFP4_GEMM_BACKEND, which releases before 0.24 read."""
    use_fbgemm: bool | None = None
    """VLLM_USE_FBGEMM, which releases before 0.24 read."""
    use_nvfp4_ct_emulations: bool | None = None
    """VLLM_USE_NVFP4_CT_EMULATIONS, which releases before 0.24 read."""
    disabled_kernels: tuple[str, ...] | None = None
    """VLLM_DISABLED_KERNELS: names of kernel classes."""
    in_features: int | None = None
    out_features: int | None = None
    has_b12x: bool | None = None
    has_fbgemm: bool | None = None
    has_humming: bool | None = None


FIELDS: tuple[str, ...] = Configuration.__struct_fields__

NULLABLE = frozenset(
    {
        "block_size",
        "index_topk",
        "compress_ratios",
        "sliding_window",
        "use_trtllm_attention",
        "use_prefill_query_quantization",
        "mla_prefill_backend",
        "flash_attn_version",
        "use_v2_model_runner",
        "model_type",
        "weight_quantization",
        "slot_mapping_helpers",
        "flashinfer_imports",
        "can_compile",
        "has_jit_cache",
        "backend",
        "linear",
        "linear_backend",
        "nvfp4_gemm_backend",
        "use_fbgemm",
        "use_nvfp4_ct_emulations",
        "disabled_kernels",
        "in_features",
        "out_features",
        "has_b12x",
        "has_fbgemm",
        "has_humming",
    }
)
"""Fields whose absence is an answer (the model has none, the user forces none), not a missing fact."""

VERSION_FIELDS = frozenset({"engine_version", "flashinfer_version", "torch_version", "cuda_version"})

DEFAULTS: dict[str, tuple[Any, str]] = {
    "engine": ("vllm", "the only engine in the matrix"),
    "dtype": ("bfloat16", "what most checkpoints hold"),
    "kv_cache_dtype": ("auto", "the engine's default"),
    "use_mla": (False, "no MLA dimensions given"),
    "use_sparse": (False, "the engine's default"),
    "has_sink": (False, "the engine's default"),
    "use_mm_prefix": (False, "the engine's default"),
    "use_non_causal": (False, "the engine's default"),
    "use_dcp": (False, "the engine's default"),
    "use_pcp": (False, "the engine's default"),
    "use_rswa": (False, "the engine's default"),
    "use_adaptive_verification": (False, "the engine's default"),
    "use_spec_decode": (False, "the engine's default"),
    "cudagraph_mode": ("FULL_AND_PIECEWISE", "the engine's default"),
    "use_per_head_quant_scales": (False, "the engine's default"),
    "use_batch_invariant": (False, "the engine's default"),
    "use_kv_connector": (False, "the engine's default"),
    "attn_type": ("decoder", "the engine's default"),
    "cubins_available": (True, "flashinfer-cubin installed or NVIDIA's artifact server reachable"),
    "has_flashinfer": (True, "the engine's wheel requires it"),
}
"""What is taken where nothing is given, and on what ground; everything else stays unknown."""

LINEAR_SCHEMES = ("nvfp4_w4a4", "nvfp4_w4a16")

LINEAR_FIELDS = frozenset(
    {
        "linear_backend",
        "nvfp4_gemm_backend",
        "use_fbgemm",
        "use_nvfp4_ct_emulations",
        "disabled_kernels",
        "in_features",
        "out_features",
        "has_b12x",
        "has_fbgemm",
        "has_humming",
    }
)
"""Fields that mean something only where `linear` is given."""

LINEAR_DEFAULTS = {
    name: DEFAULTS[name] for name in ("engine", "dtype", "use_batch_invariant", "cubins_available", "has_flashinfer")
}
"""What is taken for a linear layer where nothing is given."""

QUIET_DEFAULTS = frozenset(
    name for name, (_, ground) in DEFAULTS.items() if ground == "the engine's default" or name == "engine"
)
"""Defaults that need no mention in text output: they are what the engine itself would take."""

DTYPE_SPELLINGS = {
    "bf16": "bfloat16",
    "fp16": "float16",
    "half": "float16",
    "float": "float32",
    "fp32": "float32",
}


def spell_dtype(text: str) -> str:
    """Return the torch name of a dtype: 'torch.bfloat16' and 'bf16' -> 'bfloat16'."""
    name = text.removeprefix("torch.").lower()
    return DTYPE_SPELLINGS.get(name, name)
