"""FlashInfer's NVFP4 readers without attention: paged and flat dequantisation, flat KV quantisation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from compatcheck.smoke import nvfp4_torch
from compatcheck.smoke.kernels.base import Check, Launch, SmokeKernel, symbol
from compatcheck.smoke.problem import CANARY, Cache, Problem, poison, raw_bytes, torch_dtype
from compatcheck.smoke.shapes import lengths

if TYPE_CHECKING:
    from collections.abc import Sequence

    from compatcheck.matrix.model import Kernel
    from compatcheck.smoke.cell import SmokeCell

_ROWS = 333


class Flat(SmokeKernel):
    """Base of what has neither pages nor groups."""

    own_shapes = ("ragged",)

    def axes(self, kernel: Kernel) -> dict[str, Sequence[Any]]:
        """Group and causality mean nothing here."""
        return {"group": [None], "causal": [None]}


class DequantisePaged(Flat):
    """`nvfp4_kv_dequantize_paged`: values of every owned entry; padding tokens keep what was there."""

    name = "nvfp4-dequantise-paged"
    ids = (
        "flashinfer.nvfp4_dequantise.paged",
        "flashinfer.nvfp4_dequantize.paged",
        "flashinfer.nvfp4_kv_dequantize_paged",
    )

    def modules(self, cell: SmokeCell) -> tuple[str, ...]:
        """Its own module."""
        return ("fp4_kv_dequantization",)

    def build(self, module: str, cell: SmokeCell) -> None:
        """Build it."""
        symbol("flashinfer.jit.fp4_kv_dequantization:gen_fp4_kv_dequantization_module")().build_and_load()

    def prepare(self, cell: SmokeCell, device: str) -> Launch:
        """The launch is one gather of all sequences."""
        import torch

        dtype = torch_dtype(cell.o_dtype or cell.q_dtype or "bfloat16")
        problem = Problem(
            lengths("ragged", cell.page_size or 16, decode=True),
            page=cell.page_size or 16,
            q_heads=2,
            kv_heads=2,
            head_size=cell.head_size or 128,
            dtype=torch.bfloat16,
            layout=cell.layout or "NHD",
            device=device,
        )
        cache = Cache(problem, "nvfp4")
        kv_lens = problem.lengths.kv
        shape = (len(kv_lens), max(kv_lens), 2, problem.head_size)
        k, v = (torch.empty(shape, dtype=dtype, device=device) for _ in range(2))
        gk, gv = (torch.tensor([g], dtype=torch.float32, device=device) for g in (cache.k_scale, cache.v_scale))
        read = symbol("flashinfer:nvfp4_kv_dequantize_paged")

        def call() -> None:
            read(
                cache.pools,
                cache.scales,
                problem.block_tables,
                problem.seq_lens,
                gk,
                gv,
                k,
                v,
                kv_layout=problem.layout,
            )

        def fill() -> None:
            poison(k)
            poison(v)

        def owned(x: Any) -> Any:
            return torch.cat([x[row, :n] for row, n in enumerate(kv_lens)]).float()

        def padding_written() -> Any:
            rest = torch.cat([k[row, n:].flatten() for row, n in enumerate(kv_lens)])
            return (~rest.isnan()).to(torch.uint8)

        untouched = torch.zeros_like(padding_written())
        return Launch(
            call,
            fill,
            [
                Check("k", lambda: owned(k), cache.k),
                Check("v", lambda: owned(v), cache.v),
                Check("padding", padding_written, untouched, exact=True),
            ],
        )


class DequantiseFlat(Flat):
    """`nvfp4_kv_dequantize`."""

    name = "nvfp4-dequantise-flat"
    ids = ("flashinfer.nvfp4_dequantise.flat", "flashinfer.nvfp4_dequantize.flat", "flashinfer.nvfp4_kv_dequantize")

    def prepare(self, cell: SmokeCell, device: str) -> Launch:
        """The launch is one call, which allocates its own output."""
        import torch

        dtype = torch_dtype(cell.o_dtype or cell.q_dtype or "bfloat16")
        x = torch.randn(_ROWS, cell.head_size or 128, device=device)
        g = nvfp4_torch.decode_scale(x)
        data, sf = nvfp4_torch.quantize(x, g)
        scale = torch.tensor([g], dtype=torch.float32, device=device)
        read = symbol("flashinfer:nvfp4_kv_dequantize")
        held: dict[str, Any] = {}

        def call() -> None:
            held["out"] = read(data, sf.view(torch.uint8), scale, dtype)

        want = nvfp4_torch.dequantize(data, sf, g)
        return Launch(call, held.clear, [Check("out", lambda: held["out"].float(), want)], capturable=False)


class QuantiseFlat(Flat):
    """`nvfp4_kv_quantize`, bit for bit."""

    name = "nvfp4-kv-quantise"
    ids = ("flashinfer.nvfp4_quantise.kv", "flashinfer.nvfp4_kv_quantize", "flashinfer.nvfp4_kv_quantise")

    def prepare(self, cell: SmokeCell, device: str) -> Launch:
        """The launch is one call, which allocates its own output."""
        import torch

        x = torch.randn(_ROWS, cell.head_size or 128, device=device).to(torch_dtype(cell.q_dtype or "bfloat16"))
        g = nvfp4_torch.decode_scale(x)
        data, sf = nvfp4_torch.quantize(x, g)
        scale = torch.tensor([g], dtype=torch.float32, device=device)
        quantize = symbol("flashinfer:nvfp4_kv_quantize")
        held: dict[str, Any] = {}

        def call() -> None:
            held["data"], held["scales"] = quantize(x, scale)

        def fill() -> None:
            for pool in held.values():
                raw_bytes(pool).fill_(CANARY)

        want = nvfp4_torch.dequantize(data, sf, g)
        return Launch(
            call,
            fill,
            [
                Check("values", lambda: nvfp4_torch.dequantize(held["data"], held["scales"], g), want),
                Check("data", lambda: held["data"], data, exact=True, allowed=0.02),
            ],
            capturable=False,
        )
