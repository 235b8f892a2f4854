"""A batch of ragged sequences in permuted pages: indices, random inputs, pools, and the cache in any dtype."""

from __future__ import annotations

import math
from typing import Any

from compatcheck.smoke import nvfp4_torch
from compatcheck.smoke.kernels.base import DriverGapError
from compatcheck.smoke.shapes import Lengths

CANARY = 0xA5
POISON = 0x7F
STALE = 0x40
"""Fills cache entries that no sequence owns: 2.0 or 3.0 in every dtype, so that reading one shows as an error."""
_SPARE_PAGES = 3


def torch_dtype(name: str | None) -> Any:
    """Return torch's dtype for a kernel dtype of the matrix; nvfp4 is stored as uint8."""
    import torch

    table = {
        "float16": torch.float16,
        "bfloat16": torch.bfloat16,
        "float32": torch.float32,
        "fp8_e4m3": torch.float8_e4m3fn,
        "fp8_e5m2": torch.float8_e5m2,
        "nvfp4": torch.uint8,
        "int8": torch.int8,
    }
    if name not in table:
        raise DriverGapError(f"no torch dtype for {name!r}")
    return table[name]


def quantize8(x: Any, dtype: Any) -> tuple[Any, float]:
    """Return (x / s) in an 8-bit float type and the decode scale s = amax / largest."""
    import torch

    scale = float(x.float().abs().amax() / torch.finfo(dtype).max)
    return (x.float() / scale).to(dtype), scale


class Problem:
    """Sequences and where their tokens lie. Logical q [sum q, Hq, D], k [sum kv, Hk, D], v [sum kv, Hk, Dv]."""

    def __init__(
        self,
        lengths: Lengths,
        *,
        page: int,
        q_heads: int,
        kv_heads: int,
        head_size: int,
        dtype: Any,
        layout: str = "NHD",
        device: str = "cuda",
        v_head_size: int | None = None,
        causal: bool = False,
    ) -> None:
        import torch

        self.lengths, self.page, self.layout, self.device = lengths, page, layout, device
        self.q_heads, self.kv_heads, self.head_size = q_heads, kv_heads, head_size
        self.v_head_size = v_head_size or head_size
        self.scale = 1.0 / math.sqrt(head_size)
        q_lens, kv_lens = lengths.q, lengths.kv
        self.q = torch.randn(sum(q_lens), q_heads, head_size, device=device).to(dtype)
        self.k = torch.randn(sum(kv_lens), kv_heads, head_size, device=device).to(dtype)
        self.v = torch.randn(sum(kv_lens), kv_heads, self.v_head_size, device=device).to(dtype)
        self._place(q_lens, kv_lens)
        if lengths.needles:
            self._needle(causal)

    def _place(self, q_lens: tuple[int, ...], kv_lens: tuple[int, ...]) -> None:
        import torch

        page, device = self.page, self.device
        pages = [-(-n // page) for n in kv_lens]
        self.total_pages = sum(pages) + _SPARE_PAGES
        order = torch.randperm(self.total_pages, device=device)
        self.kv_indices = order[: sum(pages)].to(torch.int32)
        self.qo_indptr = _offsets(q_lens, device)
        self.kv_token_indptr = _offsets(kv_lens, device)
        self.kv_indptr = _offsets(pages, device)
        self.last_page = _int32([(n - 1) % page + 1 for n in kv_lens], device)
        self.seq_lens = _int32(kv_lens, device)
        self.q_seq_lens = _int32(q_lens, device)
        self.block_tables = torch.zeros(len(kv_lens), max(pages), dtype=torch.int32, device=device)
        slots, start = [], 0
        for row, (n, count) in enumerate(zip(kv_lens, pages, strict=True)):
            mine = self.kv_indices[start : start + count]
            self.block_tables[row, :count] = mine
            token = torch.arange(n, device=device)
            slots.append(mine[token // page].long() * page + token % page)
            start += count
        self.slots = torch.cat(slots)
        self.batch_indices = torch.repeat_interleave(
            torch.arange(len(kv_lens), device=device, dtype=torch.int32), self.seq_lens.long()
        )
        self.positions = torch.cat([torch.arange(n, device=device, dtype=torch.int32) for n in kv_lens])

    def _needle(self, causal: bool) -> None:
        """Align one key of each sequence with its last query, so that it takes nearly all the weight."""
        import torch

        group = self.q_heads // self.kv_heads
        a = b = 0
        for lq, lk, needle in zip(self.lengths.q, self.lengths.kv, self.lengths.needles, strict=True):
            direction = torch.randn(self.kv_heads, self.head_size, device=self.device)
            direction = direction / direction.norm(dim=-1, keepdim=True)
            # A logit of 18 above the rest outweighs 2,048 others (log 2048 = 7.6) in every dtype.
            strength = math.sqrt(18.0 / self.scale)
            rows = (direction * strength).repeat_interleave(group, dim=0)
            self.q[a : a + lq] = rows.to(self.q.dtype)
            self.k[b + needle] = (direction * strength).to(self.k.dtype)
            a, b = a + lq, b + lk

    # ---------------------------------------------------------------------------------------------- pools

    def pool(self, width: int, dtype: Any, fill: int = STALE) -> Any:
        """Return a page pool [pages, page, Hk, width] (NHD) or [pages, Hk, page, width] (HND), every byte `fill`."""
        import torch

        shape = (
            (self.total_pages, self.kv_heads, self.page, width)
            if self.layout == "HND"
            else (self.total_pages, self.page, self.kv_heads, width)
        )
        pool = torch.empty(shape, dtype=dtype, device=self.device)
        raw_bytes(pool).fill_(fill)
        return pool

    def scatter(self, pool: Any, rows: Any) -> Any:
        """Write logical rows [tokens, Hk, width] at their slots."""
        where, what = as_movable(pool), as_movable(rows)
        pages, offsets = self.slots // self.page, self.slots % self.page
        if self.layout == "HND":
            where[pages, :, offsets] = what
        else:
            where[pages, offsets] = what
        return pool

    def gather(self, pool: Any) -> Any:
        """Return the logical rows of a pool."""
        where = as_movable(pool)
        pages, offsets = self.slots // self.page, self.slots % self.page
        rows = where[pages, :, offsets] if self.layout == "HND" else where[pages, offsets]
        return rows.contiguous().view(pool.dtype)

    def workspace(self, mib: int = 256, fill: int = POISON) -> Any:
        """Return a workspace whose every byte is `fill`: a kernel that reads what it did not write will show."""
        import torch

        return torch.full((mib << 20,), fill, dtype=torch.uint8, device=self.device)


class Cache:
    """A KV cache in one dtype: pools, scales, and the logical K and V that a reader should see (float32)."""

    def __init__(self, problem: Problem, kv_dtype: str, *, interleave_v: bool = False) -> None:
        dtype = torch_dtype(kv_dtype)
        self.pools: tuple[Any, ...] = ()
        self.rows: tuple[Any, ...] = ()
        self.row_scales: tuple[Any, ...] = ()
        self.scales: tuple[Any, ...] | None = None
        self.k_scale: float | None = None
        self.v_scale: float | None = None
        if kv_dtype == "nvfp4":
            self._nvfp4(problem, interleave_v)
            return
        k, v = problem.k, problem.v
        if dtype.itemsize == 1:
            k, self.k_scale = quantize8(problem.k, dtype)
            v, self.v_scale = quantize8(problem.v, dtype)
        else:
            k, v = k.to(dtype), v.to(dtype)
        self.rows = (k, v)
        self.pools = (
            problem.scatter(problem.pool(k.shape[-1], dtype), k),
            problem.scatter(problem.pool(v.shape[-1], dtype), v),
        )
        self.k = k.float() * (self.k_scale or 1.0)
        self.v = v.float() * (self.v_scale or 1.0)

    def _nvfp4(self, problem: Problem, interleave_v: bool) -> None:
        import torch

        if problem.head_size % 16:
            # Only a refusal asks for this; what lies in the cache does not matter.
            self.rows = self.row_scales = ()
            self.pools = tuple(problem.pool(problem.head_size // 2, torch.uint8) for _ in range(2))
            self.scales = tuple(problem.pool(max(problem.head_size // 16, 1), torch.float8_e4m3fn) for _ in range(2))
            self.k, self.v, self.k_scale, self.v_scale = problem.k.float(), problem.v.float(), 1.0, 1.0
            return
        pools, scales, seen, rows, row_scales = [], [], [], [], []
        for x in (problem.k, problem.v):
            g = nvfp4_torch.decode_scale(x)
            data, sf = nvfp4_torch.quantize(x, g)
            pools.append(problem.scatter(problem.pool(data.shape[-1], torch.uint8), data))
            scales.append(problem.scatter(problem.pool(sf.shape[-1], torch.float8_e4m3fn), sf))
            seen.append((nvfp4_torch.dequantize(data, sf, g), g))
            rows.append(data)
            row_scales.append(sf)
        if interleave_v:
            from compatcheck.kv_cache import interleave_v_scales

            layout = "HND" if problem.layout == "HND" else "NHD"
            scales[1] = interleave_v_scales(scales[1], layout=layout)  # type: ignore[arg-type]
        self.rows = (rows[0], rows[1])
        self.row_scales = (row_scales[0], row_scales[1])
        self.pools = (pools[0], pools[1])
        self.scales = (scales[0], scales[1])
        (self.k, self.k_scale), (self.v, self.v_scale) = seen


def raw_bytes(tensor: Any) -> Any:
    """Return a contiguous tensor's memory as uint8."""
    import torch

    return tensor.view(torch.uint8) if tensor.dtype != torch.uint8 else tensor


def as_movable(tensor: Any) -> Any:
    """Return a view that can be indexed and assigned: torch has no scatter for 8-bit floats."""
    import torch

    return tensor.view(torch.uint8) if tensor.element_size() == 1 and tensor.dtype != torch.uint8 else tensor


def poison(tensor: Any) -> None:
    """Fill an output with NaN, or with the canary where its dtype has no NaN."""
    import torch

    if tensor.dtype in (torch.float16, torch.bfloat16, torch.float32, torch.float64):
        tensor.fill_(float("nan"))
    elif tensor.dtype in (torch.float8_e4m3fn, torch.float8_e5m2):
        tensor.view(torch.uint8).fill_(POISON)
    else:
        raw_bytes(tensor).fill_(CANARY)


def _offsets(lengths: Any, device: str) -> Any:
    total, out = 0, [0]
    for n in lengths:
        total += n
        out.append(total)
    return _int32(out, device)


def _int32(values: Any, device: str) -> Any:
    import torch

    return torch.tensor(list(values), dtype=torch.int32, device=device)
