"""FlashInfer's paged prefill: fa2, fa3, and `auto` with what it resolved to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from compatcheck.smoke.kernels.base import Launch, SmokeKernel, symbol
from compatcheck.smoke.kernels.flashinfer_attention import Setup
from compatcheck.smoke.kernels.flashinfer_modules import build_prefill, prefill_key, resolved

if TYPE_CHECKING:
    from compatcheck.smoke.cell import SmokeCell


class PagedPrefill(SmokeKernel):
    """`BatchPrefillWithPagedKVCacheWrapper` with one backend."""

    features = ("sliding_window", "soft_cap", "sinks")
    prefill_shapes = ("short", "long", "needle")
    decode_shapes = ("short", "long", "needle")

    def __init__(self, backend: str) -> None:
        self.backend = backend
        self.name = f"paged-prefill-{backend}"
        self.ids = (f"flashinfer.{backend}.paged_prefill",)

    def modules(self, cell: SmokeCell) -> tuple[str, ...]:
        """The sink variant has a module of its own, built by its wrapper."""
        return () if cell.feature == "sinks" else (prefill_key(resolved(self.backend, cell), cell),)

    def dear(self, cell: SmokeCell) -> bool:
        """fa3 modules take minutes."""
        return resolved(self.backend, cell) == "fa3"

    def build(self, module: str, cell: SmokeCell) -> None:
        """Build the prefill module."""
        build_prefill(resolved(self.backend, cell), cell)

    def prepare(self, cell: SmokeCell, device: str) -> Launch:
        """Plan; the launch is `run()`."""
        setup = Setup(cell, device, decode=False)
        problem = setup.problem
        indices = (problem.qo_indptr, problem.kv_indptr, problem.kv_indices, problem.last_page)
        heads = (problem.q_heads, problem.kv_heads, problem.head_size, problem.page)
        options: dict[str, Any] = {"causal": setup.causal, **setup.plan_options()}
        if cell.feature == "sinks":
            return self._with_sinks(setup, indices, heads, options)
        wrapper = symbol("flashinfer:BatchPrefillWithPagedKVCacheWrapper")(
            problem.workspace(), problem.layout, backend=self.backend
        )
        wrapper.plan(*indices, *heads, **options)
        extra, named = setup.run_arguments()
        if setup.cache.scales is not None:
            named["kv_cache_sf"] = setup.cache.scales

        def call() -> None:
            wrapper.run(setup.q, setup.cache.pools, *extra, out=setup.out, **named)

        return setup.launch(call, notes={"resolved": str(getattr(wrapper, "_backend", self.backend))})

    def _with_sinks(self, setup: Setup, indices: Any, heads: Any, options: dict[str, Any]) -> Launch:
        problem = setup.problem
        wrapper = symbol("flashinfer:BatchAttentionWithAttentionSinkWrapper")(
            problem.workspace(),
            problem.layout,
            backend=self.backend,
            q_data_type=options["q_data_type"],
            kv_data_type=options["kv_data_type"],
            head_dim_qk=problem.head_size,
            head_dim_vo=problem.head_size,
            window_left=-1,
        )
        wrapper.plan(*indices, *heads, **options)

        def call() -> None:
            wrapper.run(setup.q, setup.cache.pools, setup.sinks, problem.scale, out=setup.out)

        return setup.launch(call, notes={"resolved": str(getattr(wrapper, "_backend", self.backend))})
