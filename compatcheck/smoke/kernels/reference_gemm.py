"""NVFP4 linear layers emulated with torch: the swizzle, its inverse, padding and alpha that the GEMM cells rest on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from compatcheck.smoke import nvfp4_torch
from compatcheck.smoke.kernels.base import Check, Launch
from compatcheck.smoke.kernels.mm_fp4 import Gemm
from compatcheck.smoke.linear_problem import SIZES, LinearProblem
from compatcheck.smoke.scale_swizzle import unswizzle

if TYPE_CHECKING:
    from compatcheck.smoke.cell import SmokeCell

KERNEL_ID = "compatcheck.reference.nvfp4_gemm"


class ReferenceGemm(Gemm):
    """Computes the product from the packed bytes, as a kernel has to; runs on any machine with torch."""

    name = "reference-nvfp4-gemm"
    own_check = KERNEL_ID
    cpu = True

    def prepare(self, cell: SmokeCell, device: str) -> Launch:
        """Padded sizes; the scales are read back from their swizzled bytes, and the layout is made a second way."""
        size = SIZES["padded"]
        problem = LinearProblem(size, device=device, quantised_activations=True, multiple_of=32)
        held: dict[str, Any] = {}

        def call() -> None:
            for name, operand in (("a", problem.a), ("b", problem.b)):
                rows, columns = operand.linear_scales.shape
                scales = unswizzle(operand.scales, rows, columns)
                held[name] = nvfp4_torch.dequantize(operand.data, scales, 1.0).double()
                held[f"{name}_scales"] = scales
            held["product"] = problem.alpha.double() * (held["a"] @ held["b"].T)

        def another_way(operand: Any) -> Any:
            rows, columns = operand.scales.shape
            stored = operand.scales.view(rows // 128, columns // 4, 32, 4, 4)
            plain = stored.permute(0, 3, 2, 1, 4).reshape(rows, columns)
            logical = operand.linear_scales.shape
            return plain[: logical[0], : logical[1]]

        return Launch(
            call,
            held.clear,
            [
                Check("a_scales", lambda: held["a_scales"], problem.a.linear_scales, exact=True),
                Check("b_scales", lambda: held["b_scales"], problem.b.linear_scales, exact=True),
                Check("layout", lambda: another_way(problem.b).contiguous(), problem.b.linear_scales, exact=True),
                Check("product", lambda: held["product"][:, : size.n], problem.want, tolerance=1e-6),
            ],
            capturable=False,
        )
