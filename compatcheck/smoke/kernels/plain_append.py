"""FlashInfer's 16-bit and FP8 cache writer: every byte where it belongs, nothing else touched."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from compatcheck.smoke.kernels.base import Check, Launch, symbol
from compatcheck.smoke.kernels.nvfp4_append import KV_HEADS, Writer
from compatcheck.smoke.problem import CANARY, Problem, quantize8, raw_bytes, torch_dtype
from compatcheck.smoke.shapes import lengths

if TYPE_CHECKING:
    from compatcheck.smoke.cell import SmokeCell


class PlainAppend(Writer):
    """`append_paged_kv_cache`: moves entries, converts nothing, so input and cache have one dtype."""

    name = "append"
    ids = ("flashinfer.append.*", "flashinfer.append", "flashinfer.append_paged_kv_cache", "flashinfer.paged_append")

    def prepare(self, cell: SmokeCell, device: str) -> Launch:
        """The launch is one write of every token."""
        import torch

        dtype = torch_dtype(cell.kv_dtype or cell.q_dtype)
        problem = Problem(
            lengths("ragged", cell.page_size or 16, decode=True),
            page=cell.page_size or 16,
            q_heads=KV_HEADS,
            kv_heads=KV_HEADS,
            head_size=cell.head_size or 128,
            dtype=torch.bfloat16 if dtype.itemsize == 1 else dtype,
            layout=cell.layout or "NHD",
            device=device,
        )
        rows = [quantize8(x, dtype)[0] if dtype.itemsize == 1 else x for x in (problem.k, problem.v)]
        wanted = [problem.scatter(problem.pool(r.shape[-1], dtype, CANARY), r) for r in rows]
        pools = tuple(torch.empty_like(want) for want in wanted)
        write = symbol("flashinfer:append_paged_kv_cache")

        def fill() -> None:
            for pool in pools:
                raw_bytes(pool).fill_(CANARY)

        def call() -> None:
            write(
                rows[0],
                rows[1],
                problem.batch_indices,
                problem.positions,
                pools,
                problem.kv_indices,
                problem.kv_indptr,
                problem.last_page,
                kv_layout=problem.layout,
            )

        checks = [
            Check(name, partial(raw_bytes, pool), raw_bytes(want), exact=True)
            for name, pool, want in zip("kv", pools, wanted, strict=True)
        ]
        return Launch(call, fill, checks)
