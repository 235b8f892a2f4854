"""FlashInfer's ragged prefill: fa2, fa3, auto, and CUTLASS FMHA."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from compatcheck.smoke.kernels.base import Launch, SmokeKernel, symbol
from compatcheck.smoke.kernels.flashinfer_attention import Setup
from compatcheck.smoke.kernels.flashinfer_modules import build_prefill, prefill_key, resolved

if TYPE_CHECKING:
    from collections.abc import Sequence

    from compatcheck.matrix.model import Kernel
    from compatcheck.smoke.cell import SmokeCell

_DEEPSEEK_QK, _DEEPSEEK_VO = 192, 128


class RaggedPrefill(SmokeKernel):
    """`BatchPrefillWithRaggedKVCacheWrapper` with one backend. Head 192 is DeepSeek's 192 x 128."""

    features = ("sliding_window", "soft_cap")
    decode_shapes = ("short", "long", "needle")

    def __init__(self, backend: str) -> None:
        self.backend = backend
        self.name = f"ragged-prefill-{backend}"
        self.ids = (f"flashinfer.{backend}.ragged_prefill",)
        if backend == "cutlass":
            self.ids += ("flashinfer.cutlass.fmha", "flashinfer.cutlass_fmha.*", "flashinfer.cutlass_fmha")

    def axes(self, kernel: Kernel) -> dict[str, Sequence[Any]]:
        """No pages and no page layout here."""
        return {"page_size": [None], "layout": [None]}

    def modules(self, cell: SmokeCell) -> tuple[str, ...]:
        """CUTLASS builds its own module inside `plan()`."""
        if self.backend == "cutlass":
            return ()
        return (prefill_key(resolved(self.backend, cell), cell, self._v_head(cell)),)

    def dear(self, cell: SmokeCell) -> bool:
        """fa3 modules take minutes."""
        return resolved(self.backend, cell) == "fa3"

    def build(self, module: str, cell: SmokeCell) -> None:
        """Build the prefill module."""
        build_prefill(resolved(self.backend, cell), cell, self._v_head(cell))

    @staticmethod
    def _v_head(cell: SmokeCell) -> int | None:
        return _DEEPSEEK_VO if cell.head_size == _DEEPSEEK_QK else None

    def prepare(self, cell: SmokeCell, device: str) -> Launch:
        """Plan; the launch is `run()`."""
        setup = Setup(cell, device, decode=False, v_head_size=self._v_head(cell))
        problem = setup.problem
        wrapper = symbol("flashinfer:BatchPrefillWithRaggedKVCacheWrapper")(
            problem.workspace(), "NHD", backend=self.backend
        )
        wrapper.plan(
            problem.qo_indptr,
            problem.kv_token_indptr,
            problem.q_heads,
            problem.kv_heads,
            problem.head_size,
            problem.v_head_size,
            causal=setup.causal,
            **setup.plan_options(),
        )
        extra, named = setup.run_arguments()
        if setup.cache.scales is not None:
            named["kv_cache_sf"] = setup.cache.row_scales
        k, v = setup.cache.rows

        def call() -> None:
            wrapper.run(setup.q, k, v, *extra, out=setup.out, **named)

        return setup.launch(call, notes={"resolved": str(getattr(wrapper, "_backend", self.backend))})
