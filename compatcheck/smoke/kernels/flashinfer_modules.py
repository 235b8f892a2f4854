"""Keys and builders of FlashInfer's attention JIT modules, shared by the kernels that use them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compatcheck.smoke.kernels.base import symbol
from compatcheck.smoke.problem import torch_dtype

if TYPE_CHECKING:
    from compatcheck.smoke.cell import SmokeCell

_NO_POSITIONS = 0


def output_dtype(cell: SmokeCell) -> str:
    """Return the output's dtype: the query's, or bfloat16 for an 8-bit query."""
    if cell.o_dtype:
        return cell.o_dtype
    return "bfloat16" if (cell.q_dtype or "").startswith("fp8") else cell.q_dtype or "bfloat16"


def prefill_key(backend: str, cell: SmokeCell, v_head_size: int | None = None) -> str:
    """Return the key of the batch prefill module, which serves paged, ragged and tensor-core decode alike."""
    head = cell.head_size
    return (
        f"{backend}.prefill/{cell.q_dtype}/{cell.kv_dtype}/{output_dtype(cell)}/{head}x{v_head_size or head}"
        f"/window={int(cell.feature == 'sliding_window')}/cap={int(cell.feature == 'soft_cap')}"
    )


def build_prefill(backend: str, cell: SmokeCell, v_head_size: int | None = None) -> None:
    """Build what `plan()` of the batch prefill wrappers would build."""
    import torch

    get = symbol("flashinfer.prefill:get_batch_prefill_module")
    get(
        backend,
        torch_dtype(cell.q_dtype),
        torch_dtype(cell.kv_dtype),
        torch_dtype(output_dtype(cell)),
        torch.int32,
        cell.head_size,
        v_head_size or cell.head_size,
        _NO_POSITIONS,
        cell.feature == "sliding_window",
        cell.feature == "soft_cap",
        False,
    )


def decode_key(cell: SmokeCell) -> str:
    """Return the key of the CUDA-core decode module."""
    return (
        f"decode/{cell.q_dtype}/{cell.kv_dtype}/{output_dtype(cell)}/{cell.head_size}"
        f"/window={int(cell.feature == 'sliding_window')}/cap={int(cell.feature == 'soft_cap')}"
    )


def build_decode(cell: SmokeCell) -> None:
    """Build what `plan()` of the decode wrapper would build without tensor cores."""
    import torch

    get = symbol("flashinfer.decode:get_batch_decode_module")
    get(
        torch_dtype(cell.q_dtype),
        torch_dtype(cell.kv_dtype),
        torch_dtype(output_dtype(cell)),
        torch.int32,
        cell.head_size,
        cell.head_size,
        _NO_POSITIONS,
        cell.feature == "sliding_window",
        cell.feature == "soft_cap",
    )


def resolved(backend: str, cell: SmokeCell, *, decode: bool = False) -> str:
    """Return what `auto` is expected to choose, to build ahead; a wrong guess costs time only.

    Source: `flashinfer/utils.py:determine_attention_backend@0.7.2.post1`, and for decode
    `flashinfer/decode.py:BatchDecodeWithPagedKVCacheWrapper.plan@0.7.2.post1`.
    """
    if backend != "auto":
        return backend
    eight_bit_query = (cell.q_dtype or "").startswith("fp8")
    eight_bit_cache = (cell.kv_dtype or "").startswith("fp8")
    if cell.sm != "9.0" or cell.kv_dtype == "nvfp4" or cell.head_size not in (64, 128, 256):
        return "fa2"
    if decode and not (eight_bit_query or eight_bit_cache):
        return "fa2"
    return "fa2" if eight_bit_cache and not eight_bit_query else "fa3"
