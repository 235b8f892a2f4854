"""A conversation over one paged cache: sequences that grow by prefill and decode, written and read by given kernels."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from compatcheck.smoke import nvfp4_torch
from compatcheck.smoke.kernels.base import DriverGapError, symbol
from compatcheck.smoke.problem import STALE, poison, raw_bytes, torch_dtype
from compatcheck.smoke.reference import attention

if TYPE_CHECKING:
    from compatcheck.smoke.cell import SmokeCell

_KV_HEADS = 2
_PROMPTS = (150, 33, 5)
_CAPACITY = 256
_AMAX = 6.0
"""Bound of the inputs: the global scales are fixed before the first token, as an engine fixes them."""


class Conversation:
    """State of the batch. Each step writes its tokens, reads the whole cache, and keeps the reference in `wants`."""

    def __init__(self, cell: SmokeCell, device: str) -> None:
        import torch

        self.cell, self.device = cell, device
        self.writer, self.prefiller, self.decoder = cell.route
        self.page, self.head = cell.page_size or 16, cell.head_size or 128
        self.layout = cell.layout or "HND"
        self.q_heads = _KV_HEADS * (cell.group or 1)
        self.dtype = torch.bfloat16
        self.packed = cell.kv_dtype == "nvfp4"
        self.kv_dtype = torch_dtype(cell.kv_dtype)
        self.scale = 1.0 / math.sqrt(self.head)
        largest = 6.0 * 448.0 if self.packed else 448.0
        self.g = _AMAX / largest if self.kv_dtype.itemsize == 1 else 1.0
        per_sequence = -(-_CAPACITY // self.page)
        order = torch.randperm(per_sequence * len(_PROMPTS) + 3, device=device).to(torch.int32)
        self.pages = order[: per_sequence * len(_PROMPTS)].view(len(_PROMPTS), per_sequence)
        self.total_pages = order.numel()
        self.wants: dict[str, Any] = {}
        self._draws: dict[tuple[str, int, int], Any] = {}
        self.workspace = torch.full((256 << 20,), 0x7F, dtype=torch.uint8, device=device)
        self.xqa_workspace = torch.zeros(128 << 20, dtype=torch.uint8, device=device)
        width = self.head // 2 if self.packed else self.head
        self.cache = tuple(self._pool(width, self.kv_dtype) for _ in range(2))
        self.sf = tuple(self._pool(self.head // 16, torch.float8_e4m3fn) for _ in range(2)) if self.packed else None
        self.lens: list[int] = []
        self.step = 0

    def _pool(self, width: int, dtype: Any) -> Any:
        import torch

        shape = (
            (self.total_pages, _KV_HEADS, self.page, width)
            if self.layout == "HND"
            else (self.total_pages, self.page, _KV_HEADS, width)
        )
        return torch.empty(shape, dtype=dtype, device=self.device)

    def reset(self) -> None:
        """Empty cache, no tokens; inputs stay the same, so that every pass must give the same outputs."""
        for pool in (*self.cache, *(self.sf or ())):
            raw_bytes(pool).fill_(STALE)
        self.lens = [0] * len(_PROMPTS)
        self.step = 0

    # ---------------------------------------------------------------------------------------------- steps

    def prefill(self) -> Any:
        """Every sequence brings its prompt."""
        return self._turn("prefill", list(_PROMPTS), decode=False)

    def decode(self) -> Any:
        """Every sequence brings one token."""
        return self._turn(f"decode{self.step - 1}", [1] * len(_PROMPTS), decode=True)

    def mixed(self) -> Any:
        """One sequence brings a chunk, the others one token: all go through prefill."""
        return self._turn("mixed", [1, 17, 1], decode=False)

    def _turn(self, name: str, new: list[int], *, decode: bool) -> Any:
        import torch

        q = self._draw("q", sum(new), self.q_heads)
        k = self._draw("k", sum(new), _KV_HEADS)
        v = self._draw("v", sum(new), _KV_HEADS)
        slots = self._slots(new)
        self._write(k, v, slots)
        self.lens = [have + more for have, more in zip(self.lens, new, strict=True)]
        out = torch.empty(q.shape, dtype=self.dtype, device=self.device)
        poison(out)
        (self._decode if decode else self._prefill)(q, out, new)
        if name not in self.wants:
            self.wants[name] = self._want(q, new)
        self.step += 1
        return out

    def _draw(self, what: str, tokens: int, heads: int) -> Any:
        import torch

        key = (what, self.step, tokens)
        if key not in self._draws:
            x = torch.randn(tokens, heads, self.head, device=self.device).clamp(-_AMAX, _AMAX)
            self._draws[key] = x.to(self.dtype)
        return self._draws[key]

    def _slots(self, new: list[int]) -> Any:
        import torch

        parts = []
        for row, (have, more) in enumerate(zip(self.lens, new, strict=True)):
            at = torch.arange(have, have + more, device=self.device)
            parts.append(self.pages[row][at // self.page].long() * self.page + at % self.page)
        return torch.cat(parts)

    def _write(self, k: Any, v: Any, slots: Any) -> None:
        import torch

        if self.writer == "flashinfer.nvfp4_append.slot_mapping":
            g = torch.tensor([self.g], dtype=torch.float32, device=self.device)
            symbol("flashinfer:nvfp4_quantize_append_paged_kv_cache_with_slot_mapping")(
                k, v, slots, self.cache, self.sf, g, g, kv_layout=self.layout
            )
            return
        if self.packed:
            raise DriverGapError(f"{self.writer} cannot be called without the engine")
        for pool, x in zip(self.cache, (k, v), strict=True):
            stored = (x.float() / self.g).to(self.kv_dtype) if self.kv_dtype.itemsize == 1 else x.to(self.kv_dtype)
            raw, rows = (t.view(torch.uint8) if t.element_size() == 1 else t for t in (pool, stored))
            if self.layout == "HND":
                raw[slots // self.page, :, slots % self.page] = rows
            else:
                raw[slots // self.page, slots % self.page] = rows

    # -------------------------------------------------------------------------------------------- readers

    def _tables(self, new: list[int]) -> tuple[Any, ...]:
        import torch

        def int32(values: list[int]) -> Any:
            return torch.tensor(values, dtype=torch.int32, device=self.device)

        counts = [-(-n // self.page) for n in self.lens]
        indices = torch.cat([self.pages[row][:count] for row, count in enumerate(counts)])
        return (
            int32(_offsets(new)),
            int32(_offsets(counts)),
            indices,
            int32([(n - 1) % self.page + 1 for n in self.lens]),
        )

    def _options(self) -> tuple[dict[str, Any], dict[str, Any]]:
        plan = {"q_data_type": self.dtype, "kv_data_type": self.kv_dtype}
        run: dict[str, Any] = {}
        if self.kv_dtype.itemsize == 1:
            run.update(k_scale=self.g, v_scale=self.g)
        if self.sf is not None:
            run["kv_cache_sf"] = self.sf
        return plan, run

    def _prefill(self, q: Any, out: Any, new: list[int]) -> None:
        backend = self._backend(self.prefiller)
        wrapper = symbol("flashinfer:BatchPrefillWithPagedKVCacheWrapper")(self.workspace, self.layout, backend=backend)
        plan, run = self._options()
        heads = (self.q_heads, _KV_HEADS, self.head, self.page)
        wrapper.plan(*self._tables(new), *heads, causal=True, **plan)
        wrapper.run(q, self.cache, out=out, **run)

    def _decode(self, q: Any, out: Any, new: list[int]) -> None:
        import torch

        if self.decoder == "flashinfer.xqa.decode":
            run = symbol("flashinfer.decode:trtllm_batch_decode_with_kv_cache")
            named: dict[str, Any] = {"kv_cache_sf": self.sf} if self.sf is not None else {}
            run(
                q,
                self.cache,
                self.xqa_workspace,
                self.pages,
                torch.tensor(self.lens, dtype=torch.int32, device=self.device),
                max(self.lens),
                bmm1_scale=self.scale * self.g,
                bmm2_scale=self.g,
                kv_layout=self.layout,
                backend="xqa",
                out=out,
                **named,
            )
            return
        wrapper = symbol("flashinfer:BatchDecodeWithPagedKVCacheWrapper")(
            self.workspace, self.layout, use_tensor_cores=True, backend=self._backend(self.decoder)
        )
        plan, options = self._options()
        _, indptr, indices, last = self._tables(new)
        wrapper.plan(indptr, indices, last, self.q_heads, _KV_HEADS, self.head, self.page, **plan)
        wrapper.run(q, self.cache, out=out, **options)

    @staticmethod
    def _backend(kernel: str) -> str:
        backend = kernel.split(".")[1]
        if backend not in ("fa2", "fa3", "auto"):
            raise DriverGapError(f"the route test has no code for {kernel}")
        return backend

    # ------------------------------------------------------------------------------------------ reference

    def _want(self, q: Any, new: list[int]) -> Any:
        import torch

        out, start = [], 0
        for row, (total, more) in enumerate(zip(self.lens, new, strict=True)):
            k, v = (self._seen(side, row, total) for side in (0, 1))
            out.append(attention(q[start : start + more], k, v, scale=self.scale, causal=True))
            start += more
        return torch.cat(out)

    def _seen(self, side: int, row: int, total: int) -> Any:
        import torch

        at = torch.arange(total, device=self.device)
        pages, offsets = self.pages[row][at // self.page].long(), at % self.page

        def take(pool: Any) -> Any:
            raw = pool.view(torch.uint8) if pool.element_size() == 1 else pool
            rows = raw[pages, :, offsets] if self.layout == "HND" else raw[pages, offsets]
            return rows.contiguous().view(pool.dtype)

        if self.sf is not None:
            return nvfp4_torch.dequantize(take(self.cache[side]), take(self.sf[side]), self.g)
        return take(self.cache[side]).float() * self.g


def _offsets(values: list[int]) -> list[int]:
    out = [0]
    for value in values:
        out.append(out[-1] + value)
    return out
