"""The KV-cache dtypes of vLLM 0.33.0 and how each one is stored."""

from __future__ import annotations

import difflib
from typing import Literal

import msgspec

Family = Literal["plain", "nvfp4", "per_token_head", "ds_mla", "turboquant", "octave", "ultraquant"]
"""Which size formula applies, see `compatcheck.kv_cache.dtypes`."""


class KvDtype(msgspec.Struct, frozen=True, kw_only=True):
    """Storage facts of one `--kv-cache-dtype`.

    `storage` is the torch dtype of the cache tensor, or "model" where it is the model's own dtype. `k_bits`
    and `v_bits` are the bits of one stored element without scales, None where the model's dtype decides;
    `scales` says in words what is stored beside the elements. `since` is the first release whose `CacheDType`
    lists it, of the releases 0.19.1 to 0.33.0 ("0.19.1" therefore means: or earlier).
    """

    name: str
    storage: str
    k_bits: int | None
    v_bits: int | None
    family: Family
    scales: str
    source: str
    since: str = "0.19.1"


_STORAGE = "utils/torch_utils.py:STR_DTYPE_TO_TORCH_DTYPE@0.33.0"
_PER_TENSOR = "one float32 per layer for K and one for V, kept outside the cache"
_HEAD_SCALES = "float32 per token, head and side, inline after the data"
_TURBO = "model_executor/layers/quantization/turboquant/config.py:TurboQuantConfig@0.33.0"
_TURBO_SCALES = "V: float16 scale and zero point per vector; K: float16 norm per vector"
_OCTAVE = "v1/attention/ops/rocm_octave.py:OctaveFormat@0.33.0 (ROCm)"


def _plain(name: str, storage: str, bits: int | None, scales: str = "none") -> KvDtype:
    return KvDtype(name=name, storage=storage, k_bits=bits, v_bits=bits, family="plain", scales=scales, source=_STORAGE)


def _nvfp4(name: str, since: str) -> KvDtype:
    return KvDtype(
        name=name,
        storage="uint8",
        k_bits=4,
        v_bits=4,
        family="nvfp4",
        scales="E4M3 per 16 elements in the page, and one float32 per layer for K and one for V outside it",
        source="utils/torch_utils.py:nvfp4_kv_cache_full_dim@0.33.0",
        since=since,
    )


def _per_token_head(name: str, storage: str, bits: int, since: str) -> KvDtype:
    return KvDtype(
        name=name,
        storage=storage,
        k_bits=bits,
        v_bits=bits,
        family="per_token_head",
        scales=_HEAD_SCALES,
        source="v1/attention/backends/triton_attn.py:TritonAttentionBackend.customize_spec@0.33.0",
        since=since,
    )


def _turboquant(name: str, k_bits: int, v_bits: int) -> KvDtype:
    scales = "V: float16 scale and zero point per vector" if k_bits == 8 else _TURBO_SCALES
    return KvDtype(
        name=name,
        storage="uint8",
        k_bits=k_bits,
        v_bits=v_bits,
        family="turboquant",
        scales=scales,
        source=_TURBO,
        since="0.20.0",
    )


def _octave(name: str, v_bits: int, k_scales: str) -> KvDtype:
    return KvDtype(
        name=name,
        storage="uint8",
        k_bits=3,
        v_bits=v_bits,
        family="octave",
        scales=f"float16: {k_scales}, one per V vector",
        source=_OCTAVE,
        since="0.33.0",
    )


_ALL = [
    _plain("auto", "model", None),
    _plain("float16", "float16", 16),
    _plain("bfloat16", "bfloat16", 16),
    _plain("fp8", "uint8", 8, _PER_TENSOR),
    _plain("fp8_e4m3", "uint8", 8, _PER_TENSOR),
    _plain("fp8_e5m2", "uint8", 8, _PER_TENSOR),
    _plain("fp8_inc", "float8_e4m3fn", 8, _PER_TENSOR),
    KvDtype(
        name="fp8_ds_mla",
        storage="uint8",
        k_bits=8,
        v_bits=None,
        family="ds_mla",
        scales="inside the record: float32 per 128 elements (V3.2) or UE8M0 per 64 (V4) or per 32 (V4.1)",
        source="v1/attention/backends/mla/flashmla_sparse.py@0.33.0",
    ),
    KvDtype(
        name="nvfp4_ds_mla",
        storage="uint8",
        k_bits=4,
        v_bits=None,
        family="ds_mla",
        scales="inside the record: E4M3 per 16 elements",
        source="v1/attention/backends/mla/flashmla_sparse.py@0.33.0",
        since="0.30.0",
    ),
    _turboquant("turboquant_k8v4", 8, 4),
    _turboquant("turboquant_4bit_nc", 4, 4),
    _turboquant("turboquant_k3v4_nc", 3, 4),
    _turboquant("turboquant_3bit_nc", 3, 3),
    _octave("octave_k3v4", 4, "one per 64-element K block (rotary blocks hold 4-bit codes)"),
    _octave("octave_k3v3", 3, "one per 64-element K block (rotary blocks hold 4-bit codes)"),
    _octave("octave_k3v3_compact", 3, "one per K vector"),
    KvDtype(
        name="ultraquant_4bit",
        storage="uint8",
        k_bits=4,
        v_bits=4,
        family="ultraquant",
        scales="UE8M0 per 32 elements",
        source="v1/attention/ops/ultraquant/format.py:slot_size@0.33.0 (ROCm)",
        since="0.32.0",
    ),
    _per_token_head("int4_per_token_head", "uint8", 4, "0.25.0"),
    _per_token_head("int8_per_token_head", "int8", 8, "0.20.0"),
    _per_token_head("fp8_per_token_head", "uint8", 8, "0.20.0"),
    _nvfp4("nvfp4", "0.20.0"),
    _nvfp4("nvfp4_4over6", "0.28.0"),
]

KV_DTYPES: dict[str, KvDtype] = {dtype.name: dtype for dtype in _ALL}
"""Every value of `config/cache.py:CacheDType@0.33.0`, in its order."""


def kv_dtype(name: str) -> KvDtype:
    """Storage facts of a KV-cache dtype; ValueError with the nearest name if vLLM 0.33.0 does not know it."""
    try:
        return KV_DTYPES[name]
    except KeyError:
        near = difflib.get_close_matches(str(name), KV_DTYPES, n=1)
        hint = f"; did you mean {near[0]!r}?" if near else f"; known are {', '.join(KV_DTYPES)}"
        raise ValueError(f"vLLM 0.33.0 has no KV-cache dtype {name!r}{hint}") from None
