"""What FlashInfer's attention wrappers have in common: the problem, scales, options, and the reference."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from compatcheck.smoke.advisories import WINDOW
from compatcheck.smoke.kernels.base import Check, Launch
from compatcheck.smoke.kernels.flashinfer_modules import output_dtype
from compatcheck.smoke.problem import Cache, Problem, poison, quantize8, torch_dtype
from compatcheck.smoke.reference import ragged_attention
from compatcheck.smoke.shapes import lengths

if TYPE_CHECKING:
    from compatcheck.smoke.cell import SmokeCell

KV_HEADS = 2
SOFT_CAP = 12.0


class Setup:
    """Problem, cache, query in its dtype, output, and the reference's options for one cell."""

    def __init__(
        self,
        cell: SmokeCell,
        device: str,
        *,
        decode: bool,
        interleave_v: bool = False,
        v_head_size: int | None = None,
        kv_heads: int = KV_HEADS,
    ) -> None:
        import torch

        self.cell, self.device = cell, device
        eight_bit = (cell.q_dtype or "").startswith("fp8")
        base = torch.bfloat16 if eight_bit else torch_dtype(cell.q_dtype)
        page = cell.page_size or 16
        self.causal = bool(cell.causal)
        self.problem = Problem(
            lengths(cell.shape or "ragged", page, decode=decode),
            page=page,
            q_heads=kv_heads * (cell.group or 1),
            kv_heads=kv_heads,
            head_size=cell.head_size or 128,
            v_head_size=v_head_size,
            dtype=base,
            layout=cell.layout or "NHD",
            device=device,
        )
        self.cache = Cache(self.problem, cell.kv_dtype or cell.q_dtype or "bfloat16", interleave_v=interleave_v)
        self.q, self.q_scale = self.problem.q, None
        if eight_bit:
            self.q, self.q_scale = quantize8(self.problem.q, torch_dtype(cell.q_dtype))
        self.out = torch.empty(
            self.q.shape[0],
            self.q.shape[1],
            self.problem.v_head_size,
            dtype=torch_dtype(output_dtype(cell)),
            device=device,
        )
        self.window_left = WINDOW if cell.feature == "sliding_window" else -1
        self.soft_cap = SOFT_CAP if cell.feature == "soft_cap" else 0.0
        self.sinks = (
            torch.randn(self.problem.q_heads, device=device, dtype=torch.float32) if cell.feature == "sinks" else None
        )

    def reference(self) -> Any:
        """Return the fp32 output expected of the dequantised query and cache."""
        query = self.q.float() * (self.q_scale or 1.0)
        return ragged_attention(
            query,
            self.cache.k,
            self.cache.v,
            self.problem.lengths.q,
            self.problem.lengths.kv,
            scale=self.problem.scale,
            causal=self.causal,
            window_left=self.window_left,
            soft_cap=self.soft_cap,
            sinks=self.sinks,
        )

    def plan_options(self) -> dict[str, Any]:
        """Return dtypes, window and cap as `plan()` takes them."""
        options: dict[str, Any] = {
            "q_data_type": torch_dtype(self.cell.q_dtype),
            "kv_data_type": torch_dtype(self.cell.kv_dtype),
        }
        if self.q_scale is not None or self.cell.o_dtype:
            options["o_data_type"] = self.out.dtype
        if self.window_left >= 0:
            options["window_left"] = self.window_left
        if self.soft_cap > 0:
            options["logits_soft_cap"] = self.soft_cap
        return options

    def run_arguments(self) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Return what `run()` of a prefill wrapper takes beyond query and cache.

        An 8-bit query has per-head float32 scale tensors by position (fa3's calling convention); else the cache's
        scales are plain floats by name.
        """
        import torch

        if self.q_scale is not None:
            problem, cache = self.problem, self.cache

            def per_head(heads: int, value: float | None) -> Any:
                return torch.full((heads,), value or 1.0, dtype=torch.float32, device=self.device)

            return (
                per_head(problem.q_heads, self.q_scale),
                per_head(problem.kv_heads, cache.k_scale),
                per_head(problem.kv_heads, cache.v_scale),
            ), {}
        options: dict[str, Any] = {}
        if self.cache.k_scale is not None:
            options.update(k_scale=self.cache.k_scale, v_scale=self.cache.v_scale)
        return (), options

    def launch(self, call: Callable[[], None], **options: Any) -> Launch:
        """Return the launch whose one output is `out`."""
        want = self.reference()
        return Launch(
            call,
            lambda: poison(self.out),
            [Check("out", lambda: self.out.float(), want)],
            **options,
        )
