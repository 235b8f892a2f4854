"""The reference quantiser against itself: torch (used on the GPU) and numpy (kv_cache) must agree in every bit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from compatcheck.smoke import nvfp4_torch
from compatcheck.smoke.kernels.base import Check, Launch
from compatcheck.smoke.kernels.nvfp4_dequantise import Flat

if TYPE_CHECKING:
    from compatcheck.smoke.cell import SmokeCell

KERNEL_ID = "compatcheck.reference.nvfp4"


class ReferenceNvfp4(Flat):
    """The check that all NVFP4 cells rest on; runs on any machine with torch."""

    name = "reference-nvfp4"
    own_check = KERNEL_ID
    cpu = True

    def prepare(self, cell: SmokeCell, device: str) -> Launch:
        """Random, signed data with zeros, tiny and huge blocks; both quantisers, then both readers."""
        import torch

        from compatcheck.kv_cache import nvfp4_dequantize, nvfp4_quantize

        head = cell.head_size or 128
        x = torch.randn(257, head) * torch.logspace(-6, 3, 257)[:, None]
        x[0] = 0.0
        x[1, :16] = 0.0
        x = x.to(torch.bfloat16)
        g = nvfp4_torch.decode_scale(x)
        data, scales = nvfp4_quantize(x.float().numpy(), g)
        values = nvfp4_dequantize(data, scales, g)
        held: dict[str, Any] = {}

        def call() -> None:
            held["data"], held["scales"] = nvfp4_torch.quantize(x, g)
            held["values"] = nvfp4_torch.dequantize(held["data"], held["scales"], g)

        return Launch(
            call,
            held.clear,
            [
                Check("data", lambda: held["data"], torch.from_numpy(data), exact=True),
                Check("scales", lambda: held["scales"].view(torch.uint8), torch.from_numpy(scales), exact=True),
                Check("values", lambda: held["values"], torch.from_numpy(values), tolerance=0.0),
            ],
            capturable=False,
        )
