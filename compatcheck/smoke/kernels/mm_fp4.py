"""FlashInfer's `mm_fp4` by backend: the product of two NVFP4 matrices against fp64 on the dequantised operands."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from compatcheck.smoke.kernels.base import Check, Launch, SmokeKernel, symbol
from compatcheck.smoke.linear_problem import SIZES, LinearProblem
from compatcheck.smoke.problem import poison, torch_dtype

if TYPE_CHECKING:
    from collections.abc import Sequence

    from compatcheck.matrix.model import Kernel
    from compatcheck.smoke.cell import SmokeCell

_SHUFFLE_TILE = 128
"""Rows of a weight tile that trtllm-gen's layout permutes (FlashInferTrtllmNvFp4LinearKernel@0.33.0)."""


class Gemm(SmokeKernel):
    """Base of matrix products: neither pages nor heads, one cell per output dtype and size."""

    own_shapes: tuple[str, ...] | None = ("aligned", "single", "padded")

    def axes(self, kernel: Kernel) -> dict[str, Sequence[Any]]:
        """The output's dtype is the only axis beside the operands'."""
        return {"o_dtype": kernel.o_dtypes or [None]}


class MmFp4(Gemm):
    """One backend of `mm_fp4`. Weights of trtllm are shuffled, and not padded by the engine either."""

    def __init__(self, backend: str) -> None:
        self.backend = backend
        self.name = f"mm-fp4-{backend}"
        self.ids = (f"flashinfer.mm_fp4.{backend.replace('-', '_')}",)
        if backend == "trtllm":
            self.own_shapes = ("aligned", "single")

    def modules(self, cell: SmokeCell) -> tuple[str, ...]:
        """CUTLASS has one module per architecture; the others are built or fetched while they run."""
        return (f"gemm_fp4_cutlass_sm{cell.sm}",) if self.backend == "cutlass" else ()

    def dear(self, cell: SmokeCell) -> bool:
        """CUTLASS instantiates every tile for two output dtypes."""
        return self.backend == "cutlass"

    def build(self, module: str, cell: SmokeCell) -> None:
        """Build the module of the cell's architecture."""
        major, _, minor = cell.sm.partition(".")
        symbol("flashinfer.gemm.gemm_base:get_cutlass_fp4_gemm_module")(int(major), int(minor))

    def prepare(self, cell: SmokeCell, device: str) -> Launch:
        """The launch is one product into a poisoned output; what the engine slices off is not compared."""
        size = SIZES[cell.shape or "aligned"]
        multiple = 64 if self.backend == "cute-dsl" and cell.sm.startswith("12.") else 32
        problem = LinearProblem(size, device=device, quantised_activations=True, multiple_of=multiple)
        out = problem.output(torch_dtype(cell.o_dtype or "bfloat16"))
        multiply = symbol("flashinfer:mm_fp4")
        weight, weight_scales = self._weight(problem, refused=cell.expected.kind == "refused")

        def call() -> None:
            multiply(
                problem.a.data,
                weight.T,
                problem.a.scales,
                weight_scales.T,
                problem.alpha,
                out.dtype,
                out,
                backend=self.backend,
            )

        return Launch(
            call,
            lambda: poison(out),
            [Check("product", lambda: out[:, : size.n].double(), problem.want)],
            capturable=self.backend != "auto",
        )

    def _weight(self, problem: LinearProblem, *, refused: bool) -> tuple[Any, Any]:
        """Return the weight and its scales in the backend's layout; a call that is refused never looks at them."""
        import torch

        b = problem.b
        if self.backend != "trtllm" or refused:
            return b.data, b.scales
        weight = symbol("flashinfer:shuffle_matrix_a")(b.data, _SHUFFLE_TILE)
        scales = symbol("flashinfer:shuffle_matrix_sf_a")(b.linear_scales, _SHUFFLE_TILE)
        return weight, scales.reshape(b.linear_scales.shape).view(torch.float8_e4m3fn)
