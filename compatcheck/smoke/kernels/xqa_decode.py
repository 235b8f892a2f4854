"""FlashInfer's XQA decode, through the entry point that engines call."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from compatcheck.smoke.kernels.base import Launch, SmokeKernel, symbol
from compatcheck.smoke.kernels.flashinfer_attention import Setup
from compatcheck.smoke.problem import torch_dtype

if TYPE_CHECKING:
    from compatcheck.smoke.cell import SmokeCell

_WORKSPACE_MIB = 128


class XqaDecode(SmokeKernel):
    """`trtllm_batch_decode_with_kv_cache(backend="xqa")`. Its workspace must be zeroed, so it is not poisoned."""

    name = "xqa-decode"
    ids = ("flashinfer.xqa.decode",)
    features = ("sliding_window", "sinks")

    def modules(self, cell: SmokeCell) -> tuple[str, ...]:
        """One module for each dtype pair, page, head and group."""
        window = int(cell.feature == "sliding_window")
        return (
            f"xqa/{cell.q_dtype}/{cell.kv_dtype}/p{cell.page_size}/d{cell.head_size}/g{cell.group}/window={window}",
        )

    def build(self, module: str, cell: SmokeCell) -> None:
        """Build what the first call would build."""
        symbol("flashinfer.xqa:get_xqa_module")(
            torch_dtype(cell.q_dtype),
            torch_dtype(cell.kv_dtype),
            cell.page_size,
            cell.head_size,
            cell.group,
            cell.feature == "sliding_window",
            torch_dtype(cell.q_dtype),
            1,
        )

    def prepare(self, cell: SmokeCell, device: str) -> Launch:
        """The launch is one decode call."""
        setup = Setup(cell, device, decode=True)
        problem, cache = setup.problem, setup.cache
        decode = symbol("flashinfer.decode:trtllm_batch_decode_with_kv_cache")
        workspace = problem.workspace(_WORKSPACE_MIB, fill=0)
        named: dict[str, Any] = {"kv_layout": problem.layout, "backend": "xqa", "out": setup.out}
        if setup.window_left >= 0:
            named["window_left"] = setup.window_left
        if setup.sinks is not None:
            named["sinks"] = setup.sinks
        if cache.scales is not None:
            named["kv_cache_sf"] = cache.scales
        longest = max(problem.lengths.kv)

        def call() -> None:
            decode(
                setup.q,
                cache.pools,
                workspace,
                problem.block_tables,
                problem.seq_lens,
                longest,
                bmm1_scale=problem.scale * (cache.k_scale or 1.0),
                bmm2_scale=cache.v_scale or 1.0,
                **named,
            )

        return setup.launch(call)
