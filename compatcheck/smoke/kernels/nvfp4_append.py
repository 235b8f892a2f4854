"""FlashInfer's NVFP4 cache writers, bit for bit against the reference quantiser: slot mapping, CSR, MLA.

The whole pool is compared: entries that no token owns must keep the canary.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from compatcheck.smoke import nvfp4_torch
from compatcheck.smoke.kernels.base import Check, Launch, SmokeKernel, symbol
from compatcheck.smoke.problem import CANARY, Problem, quantize8, raw_bytes, torch_dtype
from compatcheck.smoke.shapes import lengths

if TYPE_CHECKING:
    from collections.abc import Sequence

    from compatcheck.matrix.model import Kernel
    from compatcheck.smoke.cell import SmokeCell

FAST_MATH = 0.02
"""Largest fraction of bytes that may differ: the kernel's approximate division moves a block scale that lies on a
rounding boundary to its neighbour, and with it up to 8 data bytes (h200: 0.6 percent of values)."""
KV_HEADS = 2


class Pools:
    """Four pools filled with the canary, and what they must hold afterwards."""

    def __init__(self, problem: Problem) -> None:
        import torch

        self.problem = problem
        self.data = tuple(problem.pool(x.shape[-1] // 2, torch.uint8, CANARY) for x in (problem.k, problem.v))
        self.scales = tuple(
            problem.pool(x.shape[-1] // 16, torch.float8_e4m3fn, CANARY) for x in (problem.k, problem.v)
        )
        self.g = tuple(nvfp4_torch.decode_scale(x) for x in (problem.k, problem.v))
        self._wanted = []
        for x, g in zip((problem.k, problem.v), self.g, strict=True):
            data, sf = nvfp4_torch.quantize(x, g)
            self._wanted.append(problem.scatter(problem.pool(data.shape[-1], torch.uint8, CANARY), data))
            self._wanted.append(problem.scatter(problem.pool(sf.shape[-1], torch.float8_e4m3fn, CANARY), sf))

    def poison(self) -> None:
        """Fill everything with the canary again."""
        for pool in (*self.data, *self.scales):
            raw_bytes(pool).fill_(CANARY)

    def checks(self) -> list[Check]:
        """Bytes of data and scales, K and V, over the whole pools; then the values that a reader would see."""
        problem = self.problem
        names = ("k_data", "k_scales", "v_data", "v_scales")
        pools = (self.data[0], self.scales[0], self.data[1], self.scales[1])
        checks = [
            Check(name, partial(raw_bytes, pool), raw_bytes(want), exact=True, allowed=FAST_MATH)
            for name, pool, want in zip(names, pools, self._wanted, strict=True)
        ]
        for side, index in (("k", 0), ("v", 1)):
            want = nvfp4_torch.dequantize(
                problem.gather(self._wanted[2 * index]), problem.gather(self._wanted[2 * index + 1]), self.g[index]
            )

            def got(i: int = index) -> Any:
                return nvfp4_torch.dequantize(problem.gather(self.data[i]), problem.gather(self.scales[i]), self.g[i])

            checks.append(Check(side, got, want))
        return checks


def _problem(cell: SmokeCell, device: str) -> Problem:
    return Problem(
        lengths("ragged", cell.page_size or 16, decode=True),
        page=cell.page_size or 16,
        q_heads=KV_HEADS,
        kv_heads=KV_HEADS,
        head_size=cell.head_size or 128,
        dtype=torch_dtype(cell.q_dtype or "bfloat16"),
        layout=cell.layout or "NHD",
        device=device,
    )


class Writer(SmokeKernel):
    """Base of the page-module writers."""

    own_shapes = ("ragged",)

    def axes(self, kernel: Kernel) -> dict[str, Sequence[Any]]:
        """Group and causality mean nothing to a writer."""
        return {"group": [None], "causal": [None]}

    def modules(self, cell: SmokeCell) -> tuple[str, ...]:
        """All writers live in one module."""
        return ("page",)

    def build(self, module: str, cell: SmokeCell) -> None:
        """Build the page module."""
        symbol("flashinfer.jit.page:gen_page_module")().build_and_load()


class SlotMappingAppend(Writer):
    """`nvfp4_quantize_append_paged_kv_cache_with_slot_mapping`, with padding rows (slot -1) that must be ignored."""

    name = "nvfp4-append-slot-mapping"
    ids = ("flashinfer.nvfp4_append.slot_mapping",)

    def prepare(self, cell: SmokeCell, device: str) -> Launch:
        """The launch is one write of every token."""
        import torch

        problem = _problem(cell, device)
        pools = Pools(problem)
        write = symbol("flashinfer:nvfp4_quantize_append_paged_kv_cache_with_slot_mapping")
        padding = torch.full((3,), -1, dtype=torch.int64, device=device)
        slots = torch.cat([problem.slots, padding])
        k = torch.cat([problem.k, problem.k[:3]])
        v = torch.cat([problem.v, problem.v[:3]])
        gk, gv = (torch.tensor([g], dtype=torch.float32, device=device) for g in pools.g)

        def call() -> None:
            write(k, v, slots, pools.data, pools.scales, gk, gv, kv_layout=problem.layout)

        return Launch(call, pools.poison, pools.checks())


class CsrAppend(Writer):
    """`nvfp4_quantize_append_paged_kv_cache`."""

    name = "nvfp4-append-csr"
    ids = ("flashinfer.nvfp4_append.csr", "flashinfer.nvfp4_append.paged")

    def prepare(self, cell: SmokeCell, device: str) -> Launch:
        """The launch is one write of every token."""
        problem = _problem(cell, device)
        pools = Pools(problem)
        write = symbol("flashinfer:nvfp4_quantize_append_paged_kv_cache")

        def call() -> None:
            write(
                problem.k,
                problem.v,
                problem.batch_indices,
                problem.positions,
                pools.data,
                pools.scales,
                problem.kv_indices,
                problem.kv_indptr,
                problem.last_page,
                pools.g[0],
                pools.g[1],
                kv_layout=problem.layout,
            )

        return Launch(call, pools.poison, pools.checks())


class MlaAppend(Writer):
    """`nvfp4_quantize_append_paged_mla_kv_cache`: compressed KV as NVFP4, rotary part as FP8 E4M3."""

    name = "nvfp4-append-mla"
    ids = ("flashinfer.nvfp4_append.mla",)

    def axes(self, kernel: Kernel) -> dict[str, Sequence[Any]]:
        """Latent dimensions and layout are fixed."""
        return {"group": [None], "causal": [None], "layout": [None]}

    def prepare(self, cell: SmokeCell, device: str) -> Launch:
        """The launch is one write of every token."""
        import torch

        problem = Problem(
            lengths("ragged", cell.page_size or 16, decode=True),
            page=cell.page_size or 16,
            q_heads=1,
            kv_heads=1,
            head_size=512,
            v_head_size=64,
            dtype=torch_dtype(cell.q_dtype or "bfloat16"),
            device=device,
        )
        ckv, kpe = problem.k[:, 0].contiguous(), problem.v[:, 0].contiguous()
        g = nvfp4_torch.decode_scale(ckv)
        data, sf = nvfp4_torch.quantize(problem.k, g)
        rope, rope_scale = quantize8(problem.v, torch.float8_e4m3fn)
        wanted = [
            problem.scatter(problem.pool(rows.shape[-1], rows.dtype, CANARY), rows).squeeze(2)
            for rows in (data, sf, rope)
        ]
        pools = [torch.empty_like(want) for want in wanted]
        write = symbol("flashinfer:nvfp4_quantize_append_paged_mla_kv_cache")

        def fill() -> None:
            for pool in pools:
                raw_bytes(pool).fill_(CANARY)

        def call() -> None:
            write(
                ckv,
                kpe,
                problem.batch_indices,
                problem.positions,
                *pools,
                problem.kv_indices,
                problem.kv_indptr,
                problem.last_page,
                g,
                rope_scale,
            )

        checks = [
            Check(name, partial(raw_bytes, pool), raw_bytes(want), exact=True, allowed=FAST_MATH)
            for name, pool, want in zip(("ckv_data", "ckv_scales", "kpe"), pools, wanted, strict=True)
        ]
        return Launch(call, fill, checks)
