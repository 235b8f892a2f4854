"""FlashInfer's batch decode: fa2 with and without tensor cores, fa3, and `auto` with what it resolved to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from compatcheck.smoke.kernels.base import Launch, SmokeKernel, symbol
from compatcheck.smoke.kernels.flashinfer_attention import Setup
from compatcheck.smoke.kernels.flashinfer_modules import (
    build_decode,
    build_prefill,
    decode_key,
    prefill_key,
    resolved,
)

if TYPE_CHECKING:
    from compatcheck.smoke.cell import SmokeCell


class Decode(SmokeKernel):
    """`BatchDecodeWithPagedKVCacheWrapper` with one backend, with or without tensor cores."""

    features = ("sliding_window", "soft_cap")
    prefill_shapes = ("ragged", "needle")

    def __init__(self, name: str, backend: str, *, tensor_cores: bool, ids: tuple[str, ...]) -> None:
        self.name = name
        self.backend = backend
        self.tensor_cores = tensor_cores
        self.ids = ids

    def _tensor_cores(self, cell: SmokeCell) -> bool:
        return self.tensor_cores if cell.tensor_cores is None else cell.tensor_cores

    def modules(self, cell: SmokeCell) -> tuple[str, ...]:
        """With tensor cores decode uses the prefill module."""
        if not self._tensor_cores(cell):
            return (decode_key(cell),)
        return (prefill_key(resolved(self.backend, cell, decode=True), cell),)

    def dear(self, cell: SmokeCell) -> bool:
        """fa3 modules take minutes."""
        return self._tensor_cores(cell) and resolved(self.backend, cell, decode=True) == "fa3"

    def build(self, module: str, cell: SmokeCell) -> None:
        """Build the module that `plan()` would build."""
        if self._tensor_cores(cell):
            build_prefill(resolved(self.backend, cell, decode=True), cell)
        else:
            build_decode(cell)

    def prepare(self, cell: SmokeCell, device: str) -> Launch:
        """Plan; the launch is `run()`."""
        setup = Setup(cell, device, decode=True)
        problem, cache = setup.problem, setup.cache
        wrapper = symbol("flashinfer:BatchDecodeWithPagedKVCacheWrapper")(
            problem.workspace(),
            problem.layout,
            use_tensor_cores=self._tensor_cores(cell),
            backend=self.backend,
        )
        wrapper.plan(
            problem.kv_indptr,
            problem.kv_indices,
            problem.last_page,
            problem.q_heads,
            problem.kv_heads,
            problem.head_size,
            problem.page,
            **setup.plan_options(),
        )
        named: dict[str, Any] = {}
        if setup.q_scale is not None:
            named["q_scale"] = setup.q_scale
        if cache.k_scale is not None:
            named.update(k_scale=cache.k_scale, v_scale=cache.v_scale)
        if cache.scales is not None:
            named["kv_cache_sf"] = cache.scales

        def call() -> None:
            wrapper.run(setup.q, cache.pools, out=setup.out, **named)

        return setup.launch(call, notes={"resolved": str(getattr(wrapper, "_backend", self.backend))})
