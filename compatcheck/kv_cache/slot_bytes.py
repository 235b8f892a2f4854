"""Bytes of one token and one KV head in every vLLM KV-cache dtype: the formulas.

As of vLLM 0.33.0; `compatcheck.kv_cache.dtype_table` names the source of each.
"""

from __future__ import annotations

import msgspec

from compatcheck.kv_cache._checks import positive
from compatcheck.kv_cache.dtype_table import KvDtype, kv_dtype
from compatcheck.kv_cache.full_dim import nvfp4_full_dim

_ITEMSIZE = {"float16": 2, "bfloat16": 2, "float32": 4, "uint8": 1, "int8": 1, "float8_e4m3fn": 1}

DS_MLA_RECORDS: dict[tuple[str, str], tuple[int, int]] = {
    ("fp8_ds_mla", "deepseek_v3.2"): (576, 656),
    ("fp8_ds_mla", "deepseek_v4"): (512, 584),
    ("fp8_ds_mla", "deepseek_v4.1"): (512, 528),
    ("nvfp4_ds_mla", "deepseek_v3.2"): (576, 352),
    ("nvfp4_ds_mla", "deepseek_v4.1"): (512, 288),
}
"""(dtype, record) -> (head size, bytes of one stored state).

V3.2: 512 latent values + 64 rotary ones; fp8: 512 + 16 (4 float32 scales) + 128 (bfloat16 rotary); nvfp4: 256
+ 64 (E4M3 rotary) + 32 (E4M3 scales). V4: 448 fp8 + 128 (bfloat16 rotary) + 8 (7 UE8M0 scales and a pad
byte). V4.1: 512 fp8 + 16 UE8M0; its nvfp4 form, 256 + 32, is the compressed cache only: the sliding-window
cache keeps 528. Sources: `v1/attention/backends/mla/flashmla_sparse.py`,
`model_executor/layers/attention/mla_attention.py`, `models/deepseek_v4/attention.py`,
`models/deepseek_v41/attention.py`, all 0.33.0.
"""


class UnknownSlotSizeError(ValueError):
    """vLLM's source does not settle the size for these arguments; the message says what is missing."""


class TokenHeadBytes(msgspec.Struct, frozen=True, kw_only=True):
    """Bytes of one token and one KV head: K side and V side, each with its scales, and the slot's padding."""

    k: int
    v: int
    padding: int = 0

    @property
    def total(self) -> int:
        """Both sides and the padding."""
        return self.k + self.v + self.padding


def token_head_bytes(
    kv_cache_dtype: str,
    head_size: int,
    *,
    head_size_v: int | None = None,
    model_dtype: str = "bfloat16",
    mla: bool = False,
    rotary_dim: int | None = None,
    ds_mla_record: str | None = None,
) -> TokenHeadBytes:
    """Bytes that one token of one KV head takes, split into K, V and padding.

    head_size and head_size_v (default: the same) count elements. `model_dtype` matters for `auto` alone. With
    `mla` there is one latent vector of head_size elements per token and no V. `rotary_dim` (elements) is
    needed by octave_k3v4 and octave_k3v3, whose rotary K blocks hold 4-bit codes. `ds_mla_record` picks the
    DeepSeek record of the ds_mla dtypes (see DS_MLA_RECORDS); head size 576 needs none.

    Raises ValueError for an unknown dtype or a head size that the format cannot store, and
    UnknownSlotSizeError where vLLM's source does not settle the size.
    """
    dtype = kv_dtype(kv_cache_dtype)
    positive("head_size", head_size)
    if head_size_v is not None:
        positive("head_size_v", head_size_v)
    size_v = head_size if head_size_v is None else head_size_v
    if dtype.family == "ds_mla":
        return TokenHeadBytes(k=_ds_mla(dtype, head_size, ds_mla_record), v=0)
    if dtype.family == "plain":
        item = itemsize(dtype, model_dtype)
        return TokenHeadBytes(k=head_size * item, v=0 if mla else size_v * item)
    if dtype.family == "per_token_head":
        if mla:
            # MLACommonBackend.customize_spec@0.33.0 reserves the scale pair although only one side exists.
            return TokenHeadBytes(k=_half_if_int4(dtype, head_size) + 8, v=0)
        return TokenHeadBytes(k=_half_if_int4(dtype, head_size) + 4, v=_half_if_int4(dtype, size_v) + 4)
    if mla:
        raise UnknownSlotSizeError(f"vLLM 0.33.0 has no MLA cache in {dtype.name}: no backend stores a latent in it")
    if size_v != head_size:
        raise UnknownSlotSizeError(
            f"vLLM 0.33.0 sizes {dtype.name} from one head size; K and V differ here ({head_size} and {size_v})"
        )
    if dtype.family == "nvfp4":
        side = nvfp4_full_dim(head_size)
        return TokenHeadBytes(k=side, v=side)
    if dtype.family == "turboquant":
        return _turboquant(dtype, head_size)
    if dtype.family == "ultraquant":
        if head_size % 32:
            raise ValueError(f"ultraquant_4bit needs a head size that is a multiple of 32, got {head_size}")
        side = head_size // 2 + head_size // 32
        return TokenHeadBytes(k=side, v=side)
    return _octave(dtype, head_size, rotary_dim)


def itemsize(dtype: KvDtype, model_dtype: str = "bfloat16") -> int:
    """Bytes of one element of the cache tensor; ValueError for a model dtype that no backend serves."""
    storage = model_dtype if dtype.storage == "model" else dtype.storage
    if dtype.storage == "model" and model_dtype not in ("float16", "bfloat16", "float32"):
        raise ValueError(f"model_dtype must be float16, bfloat16 or float32, got {model_dtype!r}")
    return _ITEMSIZE[storage]


def _half_if_int4(dtype: KvDtype, size: int) -> int:
    if dtype.k_bits != 4:
        return size
    if size % 2:
        raise ValueError(f"{dtype.name} packs two elements a byte and needs an even head size, got {size}")
    return size // 2


def _ds_mla(dtype: KvDtype, head_size: int, record: str | None) -> int:
    options = {r: sizes for (name, r), sizes in DS_MLA_RECORDS.items() if name == dtype.name}
    if record is not None:
        if record not in options:
            raise ValueError(f"{dtype.name} has the records {', '.join(options)}, got {record!r}")
        options = {record: options[record]}
    fitting = {r: size for r, (head, size) in options.items() if head == head_size}
    if len(fitting) != 1:
        known = ", ".join(f"{r} (head size {head}, {size} bytes)" for r, (head, size) in options.items())
        why = "several records fit; say ds_mla_record" if fitting else "no record has this head size"
        raise UnknownSlotSizeError(f"{dtype.name} at head size {head_size}: {why}. Known: {known}")
    return next(iter(fitting.values()))


def _turboquant(dtype: KvDtype, head_size: int) -> TokenHeadBytes:
    k_bits, v_bits = dtype.k_bits or 0, dtype.v_bits or 0
    k = head_size if k_bits == 8 else -(-head_size * k_bits // 8) + 2
    v = -(-head_size * v_bits // 8) + 4
    return TokenHeadBytes(k=k, v=v, padding=(k + v) % 2)


def _octave(dtype: KvDtype, head_size: int, rotary_dim: int | None) -> TokenHeadBytes:
    compact = dtype.name.endswith("_compact")
    if head_size % 64 or (compact and head_size & (head_size - 1)):
        rule = "a power of two and a multiple of 64" if compact else "a multiple of 64"
        raise ValueError(f"{dtype.name} needs a head size that is {rule}, got {head_size}")
    if rotary_dim is not None and (rotary_dim % 64 or not 0 <= rotary_dim <= head_size):
        raise ValueError(f"{dtype.name} needs a rotary_dim of 0 to head_size in steps of 64, got {rotary_dim}")
    if rotary_dim is None and not compact:
        raise UnknownSlotSizeError(
            f"the slot of {dtype.name} depends on the model's rotary dimensions (4-bit codes there, 3-bit "
            "elsewhere): pass rotary_dim"
        )
    wide = 0 if compact else rotary_dim or 0
    k = wide * 4 // 8 + (head_size - wide) * 3 // 8 + 2 * (1 if compact else head_size // 64)
    v = head_size * (dtype.v_bits or 0) // 8 + 2
    return TokenHeadBytes(k=k, v=v, padding=-(k + v) % (4 if compact else 8))
