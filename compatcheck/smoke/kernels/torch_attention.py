"""torch's own attention: SDPA's four backends and FlexAttention. On a machine without a GPU they run on its CPU."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from compatcheck.smoke.kernels.base import Check, Launch, SmokeKernel, symbol
from compatcheck.smoke.problem import poison, torch_dtype
from compatcheck.smoke.reference import attention

if TYPE_CHECKING:
    from collections.abc import Sequence

    from compatcheck.matrix.model import Kernel
    from compatcheck.smoke.cell import SmokeCell

_BACKENDS = {"math": "MATH", "flash": "FLASH_ATTENTION", "efficient": "EFFICIENT_ATTENTION", "cudnn": "CUDNN_ATTENTION"}
_SIZES = {"short": (8, 200), "long": (201, 401), "ragged": (1, 611), "needle": (3, 2049)}
_KV_HEADS = 2


class _TorchKernel(SmokeKernel):
    """One sequence, query length equal to key length where causal: torch aligns its causal mask top-left."""

    cpu = True
    prefill_shapes = ("short", "long")
    decode_shapes = ("short", "long")

    def axes(self, kernel: Kernel) -> dict[str, Sequence[Any]]:
        """No pages; torch's kernels differ in dtype and head size, so few points say everything."""
        groups = [1, 4] if "gqa" in kernel.features else [1]
        return {"page_size": [None], "layout": [None], "causal": [True, False], "group": groups}

    def runs(self, point: dict[str, Any]) -> bool:
        """Cache and query have one dtype."""
        return point.get("kv_dtype") in (None, point.get("q_dtype"))

    @staticmethod
    def tensors(cell: SmokeCell, device: str) -> tuple[Any, Any, Any, Any]:
        """Return q, k, v as [1, heads, length, D], and the reference [1, heads, length, D]."""
        import torch

        lq, lk = _SIZES[cell.shape or "short"]
        lq = lk if cell.causal else lq
        heads = _KV_HEADS * (cell.group or 1)
        head = cell.head_size or 128
        dtype = torch_dtype(cell.q_dtype or "float32")
        q, k, v = (
            torch.randn(n, h, head, device=device).to(dtype) for n, h in ((lq, heads), (lk, _KV_HEADS), (lk, _KV_HEADS))
        )
        want = attention(q, k, v, scale=head**-0.5, causal=bool(cell.causal))
        q, k, v, want = (x.transpose(0, 1).unsqueeze(0) for x in (q, k, v, want))
        return q, k, v, want


class Sdpa(_TorchKernel):
    """`torch.nn.functional.scaled_dot_product_attention` held to one backend."""

    def __init__(self, backend: str) -> None:
        self.backend = backend
        self.name = f"torch-sdpa-{backend}"
        self.cpu = backend in ("math", "flash")
        self.ids = (f"torch.sdpa.{backend}", f"torch.sdpa_{backend}")

    def prepare(self, cell: SmokeCell, device: str) -> Launch:
        """The launch is one call inside `sdpa_kernel`."""
        import torch

        q, k, v, want = self.tensors(cell, device)
        chosen = getattr(symbol("torch.nn.attention:SDPBackend"), _BACKENDS[self.backend])
        only = symbol("torch.nn.attention:sdpa_kernel")
        out = torch.empty_like(want, dtype=q.dtype)

        def call() -> None:
            with only(chosen):
                out.copy_(
                    torch.nn.functional.scaled_dot_product_attention(
                        q, k, v, is_causal=bool(cell.causal), enable_gqa=(cell.group or 1) > 1
                    )
                )

        return Launch(call, lambda: poison(out), [Check("out", lambda: out.float(), want)])


class Flex(_TorchKernel):
    """`flex_attention`, uncompiled: its semantics; compiled on a GPU, where that is what users run."""

    name = "torch-flex"
    ids = ("torch.flex_attention", "torch.flex", "torch.flex.*")

    def prepare(self, cell: SmokeCell, device: str) -> Launch:
        """The launch is one call."""
        import torch

        q, k, v, want = self.tensors(cell, device)
        flex = symbol("torch.nn.attention.flex_attention:flex_attention")
        create = symbol("torch.nn.attention.flex_attention:create_block_mask")
        mask = None
        if cell.causal:
            mask = create(lambda b, h, i, j: i >= j, None, None, q.shape[2], k.shape[2], device=device)
        run = torch.compile(flex, dynamic=False) if device.startswith("cuda") else flex
        out = torch.empty_like(want, dtype=q.dtype)

        def call() -> None:
            out.copy_(run(q, k, v, block_mask=mask, enable_gqa=(cell.group or 1) > 1))

        return Launch(call, lambda: poison(out), [Check("out", lambda: out.float(), want)], capturable=False)
