"""FlashInfer's `mm_bf16_fp4`: 16-bit activations times an NVFP4 weight."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from compatcheck.smoke.kernels.base import Check, Launch, symbol
from compatcheck.smoke.kernels.mm_fp4 import Gemm
from compatcheck.smoke.linear_problem import SIZES, LinearProblem
from compatcheck.smoke.problem import poison, torch_dtype

if TYPE_CHECKING:
    from compatcheck.smoke.cell import SmokeCell

_BACKEND = "cute-dsl"
_MULTIPLE = 64
"""What the engine pads K and N to (FlashInferCuteDslNvFp4W4A16LinearKernel@0.33.0)."""


class MmBf16Fp4(Gemm):
    """The weight goes through `prepare_bf16_fp4_weights` first, unless the call has to be refused."""

    name = "mm-bf16-fp4"
    ids = ("flashinfer.mm_bf16_fp4.cute_dsl",)

    def prepare(self, cell: SmokeCell, device: str) -> Launch:
        """The launch is one product into a poisoned output."""
        size = SIZES[cell.shape or "aligned"]
        problem = LinearProblem(size, device=device, quantised_activations=False, multiple_of=_MULTIPLE)
        out = problem.output(torch_dtype(cell.o_dtype or "bfloat16"))
        multiply = symbol("flashinfer:mm_bf16_fp4")
        weight: tuple[Any, ...] = (problem.b.data, problem.b.scales, problem.alpha)
        if cell.expected.kind != "refused":
            weight = symbol("flashinfer:prepare_bf16_fp4_weights")(*weight, backend=_BACKEND)

        def call() -> None:
            multiply(problem.a, *weight, backend=_BACKEND, out_dtype=out.dtype, out=out)

        return Launch(call, lambda: poison(out), [Check("product", lambda: out[:, : size.n].double(), problem.want)])
