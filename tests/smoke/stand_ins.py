"""FlashInfer's NVFP4 GEMMs and quantiser written in torch, and faults that real ones have had or might have."""

from __future__ import annotations

from enum import Enum
from typing import Any

from compatcheck.smoke import nvfp4_torch
from compatcheck.smoke.scale_swizzle import padded_shape, swizzle, unswizzle


class SfLayout(Enum):
    layout_128x4 = 0
    layout_linear = 2


class Gemm:
    """`mm_fp4` and `mm_bf16_fp4` with one fault, or none."""

    def __init__(self, fault: str | None = None) -> None:
        self.fault = fault
        self.backends: list[str] = []

    def symbol(self, path: str) -> Any:
        return {
            "flashinfer:mm_fp4": self.mm_fp4,
            "flashinfer:mm_bf16_fp4": self.mm_bf16_fp4,
            "flashinfer:prepare_bf16_fp4_weights": self.prepare,
            "flashinfer:shuffle_matrix_a": lambda weight, tile: weight.flip(0),
            "flashinfer:shuffle_matrix_sf_a": lambda scales, tile: swizzle(scales.flip(0)),
        }[path]

    def _read(self, data: Any, scales: Any, *, weight: bool) -> Any:
        rows, columns = data.shape[0], data.shape[1] // 8
        if self.fault == "linear scales":
            linear = scales.reshape(-1)[: rows * columns].view(rows, columns)
        else:
            stored = padded_shape(rows, columns)
            linear = unswizzle(scales.reshape(-1)[: stored[0] * stored[1]], rows, columns)
        if weight and self.fault == "swapped nibbles":  # of both operands they would cancel: K is summed over
            data = (data >> 4) | (data << 4)
        return nvfp4_torch.dequantize(data, linear.contiguous(), 1.0)

    def _write(self, out: Any, product: Any, alpha: Any) -> None:
        import torch

        if self.fault != "no alpha":
            product = product * alpha
        if self.fault == "zeros":
            product = torch.zeros_like(product)
        if self.fault == "last row unwritten":
            out[:-1] = product[:-1].to(out.dtype)
        elif self.fault == "last column unwritten":
            out[:, : product.shape[1] // 2] = product[:, : product.shape[1] // 2].to(out.dtype)
        else:
            out.copy_(product.to(out.dtype))

    def mm_fp4(
        self, a: Any, b: Any, a_scales: Any, b_scales: Any, alpha: Any, dtype: Any, out: Any, *, backend: str
    ) -> None:
        assert out.dtype == dtype
        import torch

        self.backends.append(backend)
        weight, scales = b.T, b_scales.T.contiguous().view(torch.uint8)
        if backend == "trtllm":
            rows, columns = weight.shape[0], weight.shape[1] // 8
            restored = unswizzle(scales, rows, columns).flip(0)
            weight, scales = weight.flip(0).contiguous(), swizzle(restored.contiguous())
        self._write(out, self._read(a, a_scales, weight=False) @ self._read(weight, scales, weight=True).T, alpha)

    def prepare(self, data: Any, scales: Any, alpha: Any, *, backend: str) -> tuple[Any, ...]:
        return data.flip(0), scales, alpha

    def mm_bf16_fp4(
        self, a: Any, data: Any, scales: Any, alpha: Any, *, backend: str, out_dtype: Any, out: Any
    ) -> None:
        assert out.dtype == out_dtype
        self.backends.append(backend)
        self._write(out, a.float() @ self._read(data.flip(0), scales, weight=True).T, alpha)


class Quantiser:
    """`nvfp4_quantize` with one fault, or none."""

    def __init__(self, fault: str | None = None) -> None:
        self.fault = fault

    def symbol(self, path: str) -> Any:
        return {"flashinfer:nvfp4_quantize": self.quantize, "flashinfer:SfLayout": SfLayout}[path]

    def quantize(self, x: Any, scale: Any, *, sfLayout: SfLayout, do_shuffle: bool) -> tuple[Any, Any]:  # noqa: N803
        import torch

        decode = float(scale) if self.fault == "decode scale" else 1.0 / float(scale)
        data, scales = nvfp4_torch.quantize(x, decode)
        scales = scales.view(torch.uint8)
        if self.fault == "zeros":
            data, scales = torch.zeros_like(data), torch.zeros_like(scales)
        if sfLayout is SfLayout.layout_linear:
            return data, scales
        if self.fault == "linear scales":
            stored = padded_shape(*scales.shape)
            return data, torch.nn.functional.pad(scales, (0, 0, 0, stored[0] - scales.shape[0]))
        return data, swizzle(scales, fill_rows=0x7F)
