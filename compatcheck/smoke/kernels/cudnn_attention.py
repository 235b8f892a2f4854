"""cuDNN's paged attention through FlashInfer: the prefill and decode functions."""

from __future__ import annotations

import importlib.util
from typing import TYPE_CHECKING, Any

from compatcheck.smoke.kernels.base import Launch, SmokeKernel, symbol
from compatcheck.smoke.kernels.flashinfer_attention import Setup

if TYPE_CHECKING:
    from collections.abc import Sequence

    from compatcheck.matrix.model import Kernel
    from compatcheck.smoke.cell import SmokeCell


def _need_frontend() -> None:
    """CuDNN's graph API needs the frontend; without it FlashInfer takes cubins of SM 10.x and fails in other words."""
    if importlib.util.find_spec("cudnn") is None:
        raise ModuleNotFoundError("No module named 'cudnn' (nvidia-cudnn-frontend)")


class CudnnPrefill(SmokeKernel):
    """`cudnn_batch_prefill_with_kv_cache`: caches [pages, Hk, page, D], query offsets in elements."""

    name = "cudnn-prefill"
    ids = ("flashinfer.cudnn.prefill",)
    decode_shapes = ("short", "long", "needle")

    def axes(self, kernel: Kernel) -> dict[str, Sequence[Any]]:
        """The graph wants one layout."""
        return {"layout": ["HND"]}

    def prepare(self, cell: SmokeCell, device: str) -> Launch:
        """The launch is one prefill call, which allocates its own output where it takes none."""
        import torch

        _need_frontend()
        setup = Setup(cell, device, decode=False)
        problem = setup.problem
        prefill = symbol("flashinfer.cudnn.prefill:cudnn_batch_prefill_with_kv_cache")
        offsets = problem.qo_indptr.to(torch.int32) * (problem.q_heads * problem.head_size)
        k, v = setup.cache.pools
        workspace = problem.workspace().view(torch.int8)

        def call() -> None:
            prefill(
                setup.q,
                k,
                v,
                problem.scale,
                workspace,
                max_token_per_sequence=max(problem.lengths.q),
                max_sequence_kv=max(problem.lengths.kv),
                actual_seq_lens_q=problem.q_seq_lens.view(-1, 1, 1, 1),
                actual_seq_lens_kv=problem.seq_lens.view(-1, 1, 1, 1),
                block_tables=problem.block_tables,
                causal=setup.causal,
                return_lse=False,
                batch_offsets_q=offsets,
                batch_offsets_o=offsets,
                out=setup.out,
            )

        return setup.launch(call, capturable=False)


class CudnnDecode(SmokeKernel):
    """`cudnn_batch_decode_with_kv_cache`."""

    name = "cudnn-decode"
    ids = ("flashinfer.cudnn.decode",)

    def axes(self, kernel: Kernel) -> dict[str, Sequence[Any]]:
        """The graph wants one layout."""
        return {"layout": ["HND"]}

    def prepare(self, cell: SmokeCell, device: str) -> Launch:
        """The launch is one decode call."""
        import torch

        _need_frontend()
        setup = Setup(cell, device, decode=True)
        problem = setup.problem
        decode = symbol("flashinfer.decode:cudnn_batch_decode_with_kv_cache")
        batch = len(problem.lengths.kv)
        step = problem.q_heads * problem.head_size
        offsets = torch.arange(batch + 1, device=device, dtype=torch.int64) * step
        k, v = setup.cache.pools
        workspace = problem.workspace().view(torch.int8)

        def call() -> None:
            decode(
                setup.q,
                k,
                v,
                problem.scale,
                workspace,
                max_sequence_kv=max(problem.lengths.kv),
                actual_seq_lens_kv=problem.seq_lens.view(-1, 1, 1, 1),
                block_tables=problem.block_tables,
                batch_offsets_q=offsets,
                batch_offsets_o=offsets,
                out=setup.out,
            )

        return setup.launch(call, capturable=False)
