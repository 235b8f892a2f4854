"""One quantised linear layer: packed operands as a GEMM takes them, and the product of what they stand for."""

from __future__ import annotations

from typing import Any, NamedTuple

from compatcheck.smoke import nvfp4_torch
from compatcheck.smoke.scale_swizzle import swizzle

GAIN = 0.375
"""A factor in alpha beyond the two global scales: a kernel that ignores alpha, or applies one scale, is off by it."""
_ROWS_BEYOND = 0x38
"""1.0 in E4M3: what stands in the scales of rows beyond the last one, and must not be read."""


class Size(NamedTuple):
    """Tokens, output and input features."""

    m: int
    n: int
    k: int


SIZES = {
    "aligned": Size(200, 256, 512),
    "single": Size(1, 256, 512),
    "padded": Size(97, 264, 464),
}
"""aligned: two row tiles, the last partly filled. single: one token. padded: N and K that must be padded first."""


class Operand:
    """A matrix [rows, K] as NVFP4: `data` [rows', K'/2] uint8, `scales` swizzled, `values` [rows, K] float64, `scale`.

    Rows and K are padded with zeros to multiples, as the engine does to a layer's weight.
    """

    def __init__(self, x: Any, *, multiple_of: int, pad_rows: bool) -> None:
        import torch

        rows, k = x.shape
        self.scale = nvfp4_torch.decode_scale(x)
        data, scales = nvfp4_torch.quantize(x, self.scale)
        self.values = nvfp4_torch.dequantize(data, scales, self.scale).double()
        more_k = -k % multiple_of
        more_rows = -rows % multiple_of if pad_rows else 0
        self.data = torch.nn.functional.pad(data, (0, more_k // 2, 0, more_rows)).contiguous()
        self.linear_scales = torch.nn.functional.pad(scales.view(torch.uint8), (0, more_k // 16, 0, more_rows))
        self.scales = swizzle(self.linear_scales, fill_rows=_ROWS_BEYOND)


class LinearProblem:
    """Random signed activations and weight; `want` [m, n] float64 is GAIN * A * B^T of the dequantised operands."""

    def __init__(self, size: Size, *, device: str, quantised_activations: bool, multiple_of: int) -> None:
        import torch

        self.size = size
        x = torch.randn(size.m, size.k, device=device).to(torch.bfloat16)
        weight = torch.randn(size.n, size.k, device=device).to(torch.bfloat16)
        self.b = Operand(weight, multiple_of=multiple_of, pad_rows=True)
        if quantised_activations:
            self.a: Any = Operand(x, multiple_of=multiple_of, pad_rows=False)
            left, scale = self.a.values, self.a.scale * self.b.scale
        else:
            self.a = torch.nn.functional.pad(x, (0, -size.k % multiple_of)).contiguous()
            left, scale = x.double(), self.b.scale
        self.alpha = torch.tensor([scale * GAIN], dtype=torch.float32, device=device)
        self.want = GAIN * (left @ self.b.values.T)

    def output(self, dtype: Any) -> Any:
        """Return an output [m, N'] for the padded weight."""
        import torch

        return torch.empty(self.size.m, self.b.data.shape[0], dtype=dtype, device=self.b.data.device)
