"""NVFP4 activation quantisers, checked for content: on SM 9.0 some releases return zeros without an error."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from compatcheck.smoke import nvfp4_torch
from compatcheck.smoke.kernels.base import Check, Launch, symbol
from compatcheck.smoke.kernels.nvfp4_dequantise import Flat
from compatcheck.smoke.problem import torch_dtype
from compatcheck.smoke.scale_swizzle import padded_shape, unswizzle

if TYPE_CHECKING:
    from compatcheck.smoke.cell import SmokeCell

_ROWS = 200
"""Not a multiple of 128: the last tile of swizzled scales is partly padding."""
QUANTISATION = 0.15
"""NVFP4's own error on normal data is about 0.1 of the norm; an all-zero result has 1."""


class ActivationQuantise(Flat):
    """`nvfp4_quantize` with linear scales, and with the 128x4 scales that a linear layer's GEMM reads.

    Its global scale is the encode scale 448 * 6 / amax.
    """

    name = "nvfp4-quantise-activation"
    ids: tuple[str, ...] = (
        "flashinfer.nvfp4_quantize",
        "flashinfer.nvfp4_quantise.activation",
        "flashinfer.fp4_quantize",
    )

    def modules(self, cell: SmokeCell) -> tuple[str, ...]:
        """One module per architecture."""
        return ("fp4_quantization",)

    def build(self, module: str, cell: SmokeCell) -> None:
        """Build the module of the cell's architecture."""
        get = symbol("flashinfer.quantization.fp4_quantization:get_fp4_quantization_module")
        get(cell.sm.replace(".", ""))

    def prepare(self, cell: SmokeCell, device: str) -> Launch:
        """The launch is a call per layout; memory is poisoned first, so that unwritten scales cannot look right."""
        import torch

        width = cell.head_size or 512
        x = torch.randn(_ROWS, width, device=device).to(torch_dtype(cell.q_dtype or "bfloat16"))
        encode = float(448.0 * 6.0 / x.float().abs().amax())
        scale = torch.tensor([encode], dtype=torch.float32, device=device)
        quantize = symbol(
            "flashinfer:fp4_quantize" if cell.symbol.endswith(":fp4_quantize") else "flashinfer:nvfp4_quantize"
        )
        held: dict[str, Any] = {}
        stored = padded_shape(_ROWS, width // 16)
        sizes = (_ROWS * width // 2, _ROWS * width // 16, _ROWS * width // 2, stored[0] * stored[1])

        def layout(*, swizzled: bool) -> dict[str, Any]:
            if cell.symbol.endswith(":fp4_quantize"):
                return {"is_sf_swizzled_layout": swizzled}
            layouts = symbol("flashinfer:SfLayout")
            return {"sfLayout": layouts.layout_128x4 if swizzled else layouts.layout_linear, "do_shuffle": False}

        def fill() -> None:
            held.clear()
            for size in sizes:
                torch.full((size,), 0x7F, dtype=torch.uint8, device=device)

        def call() -> None:
            held["data"], held["scales"] = quantize(x, scale, **layout(swizzled=False))
            held["swizzled_data"], held["swizzled_scales"] = quantize(x, scale, **layout(swizzled=True))

        def read(data: Any, scales: Any) -> Any:
            seen = nvfp4_torch.dequantize(data.view(torch.uint8).reshape(_ROWS, width // 2), scales, 1.0 / encode)
            return seen.nan_to_num(nan=0.0)

        def values() -> Any:
            scales = held["scales"].view(torch.uint8).reshape(-1)[: _ROWS * width // 16]
            return read(held["data"], scales.reshape(_ROWS, width // 16))

        def swizzled_values() -> Any:
            scales = unswizzle(held["swizzled_scales"].view(torch.uint8), _ROWS, width // 16)
            return read(held["swizzled_data"], scales)

        def nonzero() -> Any:
            return (held["data"].view(torch.uint8).float().amax() > 0).to(torch.uint8).reshape(1)

        one = torch.ones(1, dtype=torch.uint8, device=device)
        return Launch(
            call,
            fill,
            [
                Check("values", values, x.float(), tolerance=QUANTISATION),
                Check("swizzled_values", swizzled_values, x.float(), tolerance=QUANTISATION),
                Check("not_all_zero", nonzero, one, exact=True),
            ],
            capturable=False,
        )
