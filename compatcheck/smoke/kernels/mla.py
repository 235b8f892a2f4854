"""FlashInfer's MLA decode: the paged wrapper (fa2, fa3, cutlass, auto) and the trtllm entry point (trtllm-gen, xqa).

DeepSeek's dimensions: compressed KV 512, rotary part 64, one KV head, scale 1 / sqrt(128 + 64).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from compatcheck.smoke.kernels.base import Check, Launch, SmokeKernel, SymbolMissingError, symbol
from compatcheck.smoke.problem import Problem, as_movable, poison, quantize8, torch_dtype
from compatcheck.smoke.reference import ragged_attention
from compatcheck.smoke.shapes import lengths

if TYPE_CHECKING:
    from collections.abc import Sequence

    from compatcheck.matrix.model import Kernel
    from compatcheck.smoke.cell import SmokeCell

CKV, KPE = 512, 64
SCALE = 1.0 / math.sqrt(128 + 64)


class MlaSetup:
    """Query, latent cache [pages, page, 512] and [pages, page, 64], and the reference of one cell."""

    def __init__(self, cell: SmokeCell, device: str) -> None:
        import torch

        eight_bit = (cell.q_dtype or "").startswith("fp8")
        base = torch.bfloat16 if eight_bit else torch_dtype(cell.q_dtype)
        self.device = device
        self.heads = cell.group or 16
        self.causal = bool(cell.causal)
        self.problem = Problem(
            lengths(cell.shape or "ragged", cell.page_size or 16, decode=True),
            page=cell.page_size or 16,
            q_heads=self.heads,
            kv_heads=1,
            head_size=CKV + KPE,
            v_head_size=CKV,
            dtype=base,
            device=device,
        )
        kv_dtype = torch_dtype(cell.kv_dtype)
        latent = self.problem.k[:, 0]
        parts, scales = [], []
        for part in (latent[:, :CKV], latent[:, CKV:]):
            if kv_dtype.itemsize == 1 and kv_dtype != torch.uint8:
                stored, scale = quantize8(part, kv_dtype)
            else:
                stored, scale = part.to(kv_dtype), 1.0
            parts.append(stored)
            scales.append(scale)
        self.scales = tuple(scales) if kv_dtype.itemsize == 1 and kv_dtype != torch.uint8 else None
        self.ckv, self.kpe = (self._pool(part) for part in parts)
        self.seen = torch.cat([p.float() * s for p, s in zip(parts, scales, strict=True)], -1)[:, None]
        self.q, self.q_scale = self.problem.q, 1.0
        if eight_bit:
            self.q, self.q_scale = quantize8(self.problem.q, torch_dtype(cell.q_dtype))
        self.out = torch.empty(self.q.shape[0], self.heads, CKV, dtype=base, device=device)

    def _pool(self, rows: Any) -> Any:
        import torch

        problem = self.problem
        pool = torch.zeros(problem.total_pages, problem.page, rows.shape[-1], dtype=rows.dtype, device=self.device)
        as_movable(pool).view(-1, rows.shape[-1])[problem.slots] = as_movable(rows.contiguous())
        return pool

    def launch(self, call: Any, **options: Any) -> Launch:
        """Return the launch with its reference."""
        want = ragged_attention(
            self.q.float() * self.q_scale,
            self.seen,
            self.seen[..., :CKV],
            self.problem.lengths.q,
            self.problem.lengths.kv,
            scale=SCALE,
            causal=self.causal,
        )
        return Launch(call, lambda: poison(self.out), [Check("out", lambda: self.out.float(), want)], **options)


class MlaWrapper(SmokeKernel):
    """`BatchMLAPagedAttentionWrapper` with one backend."""

    prefill_shapes = ("ragged", "needle")

    def __init__(self, backend: str) -> None:
        self.backend = backend
        self.name = f"mla-{backend}"
        self.ids = (f"flashinfer.mla.{backend}",)

    def axes(self, kernel: Kernel) -> dict[str, Sequence[Any]]:
        """The group is the number of heads, since there is one KV head; the layout is fixed."""
        groups = [128] if self.backend == "cutlass" else [16, 128]
        pages = {"page_size": [64, 128]} if self.backend == "cutlass" and not kernel.page_sizes else {}
        return {"group": groups, "layout": [None], "causal": [None], **pages}

    def _resolved(self, cell: SmokeCell) -> str:
        if self.backend != "auto":
            return self.backend
        return "fa3" if cell.sm == "9.0" else "fa2"

    def modules(self, cell: SmokeCell) -> tuple[str, ...]:
        """One module for each backend and dtype pair; CUTLASS builds inside `run()`."""
        if self.backend == "cutlass":
            return ()
        return (f"{self._resolved(cell)}.mla/{cell.q_dtype}/{cell.kv_dtype}",)

    def dear(self, cell: SmokeCell) -> bool:
        """fa3 modules take minutes."""
        return self._resolved(cell) == "fa3"

    def build(self, module: str, cell: SmokeCell) -> None:
        """Build what `plan()` would build."""
        import torch

        try:
            get = symbol("flashinfer.mla._batch_mla._backends._fa_common:get_batch_mla_module")
        except (SymbolMissingError, ModuleNotFoundError):
            get = symbol("flashinfer.mla._core:get_batch_mla_module")
        q = torch_dtype(cell.q_dtype)
        get(self._resolved(cell), q, torch_dtype(cell.kv_dtype), q, torch.int32, CKV, KPE, False)

    def prepare(self, cell: SmokeCell, device: str) -> Launch:
        """Plan; the launch is `run()`."""
        setup = MlaSetup(cell, device)
        problem = setup.problem
        wrapper = symbol("flashinfer.mla:BatchMLAPagedAttentionWrapper")(problem.workspace(), backend=self.backend)
        nope, rope = setup.q[..., :CKV].contiguous(), setup.q[..., CKV:].contiguous()
        if self.backend == "cutlass":
            # Its page table is padded to whole 128-token tiles.
            step = max(128 // problem.page, 1)
            width = -(-problem.block_tables.shape[1] // step) * step
            table = problem.block_tables.new_zeros(problem.block_tables.shape[0], width)
            table[:, : problem.block_tables.shape[1]] = problem.block_tables

            def call_cutlass() -> None:
                wrapper.run(nope, rope, setup.ckv, setup.kpe, out=setup.out, kv_len=problem.seq_lens, page_table=table)

            return setup.launch(call_cutlass)
        wrapper.plan(
            problem.qo_indptr,
            problem.kv_indptr,
            problem.kv_indices,
            problem.seq_lens,
            setup.heads,
            CKV,
            KPE,
            problem.page,
            setup.causal,
            SCALE,
            torch_dtype(cell.q_dtype),
            torch_dtype(cell.kv_dtype),
        )
        named: dict[str, Any] = {}
        if setup.scales is not None:
            named.update(ckv_scale=setup.scales[0], kpe_scale=setup.scales[1])

        def call() -> None:
            wrapper.run(nope, rope, setup.ckv, setup.kpe, out=setup.out, **named)

        return setup.launch(call, notes={"resolved": str(getattr(wrapper, "_backend", self.backend))})


class MlaTrtllm(SmokeKernel):
    """`trtllm_batch_decode_with_kv_cache_mla` with one backend: one packed latent cache [pages, page, 576]."""

    def __init__(self, backend: str) -> None:
        self.backend = backend
        self.name = f"mla-{backend}"
        self.ids = (f"flashinfer.mla.{backend.replace('-', '_')}",)

    def axes(self, kernel: Kernel) -> dict[str, Sequence[Any]]:
        """DeepSeek's 128 heads; the layout is fixed."""
        return {"group": [128], "layout": [None], "causal": [None]}

    def prepare(self, cell: SmokeCell, device: str) -> Launch:
        """The launch is one decode call."""
        import torch

        setup = MlaSetup(cell, device)
        problem = setup.problem
        decode = symbol("flashinfer.mla:trtllm_batch_decode_with_kv_cache_mla")
        cache = torch.cat([as_movable(setup.ckv), as_movable(setup.kpe)], dim=-1).view(setup.ckv.dtype)
        # One tensor has one scale; both parts were quantised apart, so an 8-bit cache is compared in bf16 only.
        scale = setup.scales[0] if setup.scales else 1.0
        if setup.scales is not None:
            rows, scale = quantize8(problem.k[:, 0], setup.ckv.dtype)
            cache = torch.zeros_like(cache)
            as_movable(cache).view(-1, CKV + KPE)[problem.slots] = as_movable(rows)
            setup.seen = (rows.float() * scale)[:, None]
        workspace = problem.workspace(fill=0)
        q, out = setup.q.unsqueeze(1), setup.out.unsqueeze(1)
        # Its block tables are padded to whole 128-token tiles.
        step = max(128 // problem.page, 1)
        width = -(-problem.block_tables.shape[1] // step) * step
        table = problem.block_tables.new_zeros(problem.block_tables.shape[0], width)
        table[:, : problem.block_tables.shape[1]] = problem.block_tables
        longest = max(problem.lengths.kv)

        def call() -> None:
            decode(
                q,
                cache.unsqueeze(1),
                workspace,
                128,
                CKV,
                KPE,
                table,
                problem.seq_lens,
                longest,
                out=out,
                bmm1_scale=SCALE * scale * setup.q_scale,
                bmm2_scale=scale,
                backend=self.backend,
            )

        return setup.launch(call)
