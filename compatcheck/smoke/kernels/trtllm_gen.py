"""FlashInfer's trtllm-gen kernels: decode and context. On SM 10.x an NVFP4 cache takes an FP8 query and gives FP8.

The FP8 output is dequantised before it is compared, as an engine does; V's block scales are interleaved by 4 tokens.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from compatcheck.smoke.kernels.base import Check, Launch, SmokeKernel, symbol
from compatcheck.smoke.kernels.flashinfer_attention import Setup
from compatcheck.smoke.problem import poison

if TYPE_CHECKING:
    from compatcheck.smoke.cell import SmokeCell

_WORKSPACE_MIB = 128
_FP8_OUTPUT_SCALE = 1.0 / 64.0
"""Decode scale of an FP8 output: |out| stays below 448 / 64 = 7."""


class TrtllmGen(SmokeKernel):
    """`trtllm_batch_decode_with_kv_cache` and `trtllm_batch_context_with_kv_cache`; cubins are fetched, not built."""

    features = ("sliding_window", "sinks")

    def __init__(self, *, decode: bool) -> None:
        self.decode = decode
        self.name = "trtllm-gen-decode" if decode else "trtllm-gen-context"
        self.ids = ("flashinfer.trtllm_gen.decode",) if decode else ("flashinfer.trtllm_gen.context",)
        if not decode:
            self.decode_shapes = self.prefill_shapes

    def shapes(self, point: dict[str, Any]) -> tuple[str, ...]:
        """Decode shapes or prefill shapes, whichever the entry point is for."""
        return self.decode_shapes if self.decode else self.prefill_shapes

    def complete(self, point: dict[str, Any]) -> dict[str, Any]:
        """An NVFP4 cache is read with an FP8 query and written to an FP8 output."""
        return {**point, "o_dtype": "fp8_e4m3"} if point.get("kv_dtype") == "nvfp4" else point

    def prepare(self, cell: SmokeCell, device: str) -> Launch:
        """The launch is one call of the entry point."""
        setup = Setup(cell, device, decode=self.decode, interleave_v=cell.kv_dtype == "nvfp4")
        if not self.decode:
            setup.causal = cell.causal is not False
        problem, cache = setup.problem, setup.cache
        out = setup.out
        o_scale = _FP8_OUTPUT_SCALE if cell.o_dtype == "fp8_e4m3" else 1.0
        # Its semaphores live in the workspace and must start at zero.
        workspace = problem.workspace(_WORKSPACE_MIB, fill=0)
        named: dict[str, Any] = {"kv_layout": problem.layout, "out": out}
        if setup.window_left >= 0:
            named["window_left"] = setup.window_left
        if setup.sinks is not None:
            named["sinks"] = setup.sinks
        if cache.scales is not None:
            named["kv_cache_sf"] = cache.scales
        scale1 = problem.scale * (cache.k_scale or 1.0) * (setup.q_scale or 1.0)
        scale2 = (cache.v_scale or 1.0) / o_scale
        longest_q, longest = max(problem.lengths.q), max(problem.lengths.kv)
        tables = (problem.block_tables, problem.seq_lens)
        if self.decode:
            run = symbol("flashinfer.decode:trtllm_batch_decode_with_kv_cache")
            named["backend"] = "trtllm-gen"

            def call() -> None:
                run(setup.q, cache.pools, workspace, *tables, longest, bmm1_scale=scale1, bmm2_scale=scale2, **named)
        else:
            run = symbol("flashinfer.prefill:trtllm_batch_context_with_kv_cache")

            def call() -> None:
                run(
                    setup.q,
                    cache.pools,
                    workspace,
                    *tables,
                    longest_q,
                    longest,
                    scale1,
                    scale2,
                    len(problem.lengths.q),
                    problem.qo_indptr,
                    problem.kv_token_indptr,
                    **named,
                )

        want = setup.reference()
        return Launch(call, lambda: poison(out), [Check("out", lambda: out.float() * o_scale, want)])
