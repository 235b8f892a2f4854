"""`nvfp4_quantize_paged_kv_cache`: a 16-bit paged cache to trtllm-gen's NVFP4 layout, checked for content."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from compatcheck.smoke import nvfp4_torch
from compatcheck.smoke.kernels.base import Check, Launch, symbol
from compatcheck.smoke.kernels.nvfp4_activation import QUANTISATION, ActivationQuantise
from compatcheck.smoke.problem import torch_dtype

if TYPE_CHECKING:
    from compatcheck.smoke.cell import SmokeCell

_PAGES, _KV_HEADS = 5, 2


class QuantisePaged(ActivationQuantise):
    """K comes back with linear scales, V with scales interleaved by four tokens; both with a global decode scale."""

    name = "nvfp4-quantise-paged"
    ids = ("flashinfer.nvfp4_quantize_paged",)

    def prepare(self, cell: SmokeCell, device: str) -> Launch:
        """The launch is one call, which allocates its own output."""
        import torch

        page, head = cell.page_size or 16, cell.head_size or 128
        layout = cell.layout or "HND"
        shape = (_PAGES, _KV_HEADS, page, head) if layout == "HND" else (_PAGES, page, _KV_HEADS, head)
        dtype = torch_dtype(cell.q_dtype or "bfloat16")
        k, v = (torch.randn(shape, device=device).to(dtype) for _ in range(2))
        quantize = symbol("flashinfer.quantization.fp4_quantization:nvfp4_quantize_paged_kv_cache")
        held: dict[str, Any] = {}

        def call() -> None:
            held["data"], held["scales"], *held["g"] = quantize(k, v, kv_layout=layout)

        def values(side: int) -> Any:
            from compatcheck.kv_cache import deinterleave_v_scales

            scales = held["scales"][side].view(torch.uint8)
            if side == 1:
                scales = deinterleave_v_scales(scales, layout="HND" if layout == "HND" else "NHD")
            g = float(held["g"][side])
            return nvfp4_torch.dequantize(held["data"][side].view(torch.uint8), scales, g).nan_to_num(nan=0.0)

        return Launch(
            call,
            held.clear,
            [
                Check("k", lambda: values(0), k.float(), tolerance=QUANTISATION),
                Check("v", lambda: values(1), v.float(), tolerance=QUANTISATION),
            ],
            capturable=False,
        )
