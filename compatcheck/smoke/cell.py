"""One cell: a kernel, one point of its axes, one shape of the problem."""

from __future__ import annotations

from typing import Any

import msgspec

from compatcheck.resolve.kernel import KernelCell
from compatcheck.smoke.outcome import Expectation

SHORT_DTYPE = {
    "float16": "fp16",
    "bfloat16": "bf16",
    "float32": "fp32",
    "fp8_e4m3": "e4m3",
    "fp8_e5m2": "e5m2",
    "nvfp4": "nvfp4",
}


class SmokeCell(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A cell and what the matrix expects of it.

    `shape` is one of short, long, needle (prefill), ragged, needle (decode, write) or whole (a route). `feature` is
    sliding_window, soft_cap or sinks. `tolerance` bounds the relative error. `until` limits the level (a refusal is
    known at launch). `family` is the id without the shape: cells that differ in shape alone.
    """

    id: str
    kernel: str
    driver: str
    symbol: str
    phase: str
    sm: str
    expected: Expectation
    q_dtype: str | None = None
    kv_dtype: str | None = None
    o_dtype: str | None = None
    head_size: int | None = None
    page_size: int | None = None
    layout: str | None = None
    group: int | None = None
    causal: bool | None = None
    tensor_cores: bool | None = None
    feature: str | None = None
    shape: str | None = None
    tolerance: float = 0.03
    needs: tuple[str, ...] = ()
    graph: bool = False
    """Whether the matrix says that the call may be captured in a CUDA graph."""
    route: tuple[str, ...] = ()
    seed: int = 0

    @property
    def family(self) -> str:
        """The id without the shape."""
        return self.id.rpartition("/")[0] if self.shape else self.id

    def kernel_cell(self, flashinfer: str | None, torch: str | None, cuda: str | None) -> KernelCell:
        """Return the point as the resolver's `KernelCell`, with the versions given."""
        return KernelCell(
            sm=None if self.sm == "cpu" else self.sm,
            flashinfer_version=flashinfer,
            torch_version=torch,
            cuda_version=cuda,
            **{name: getattr(self, name) for name in POINT_FIELDS},
        )


POINT_FIELDS = (
    "q_dtype",
    "kv_dtype",
    "o_dtype",
    "head_size",
    "page_size",
    "layout",
    "causal",
    "group",
    "tensor_cores",
)


def cell_id(kernel: str, sm: str, point: dict[str, Any], *extra: str | None) -> str:
    """Return the readable id: `flashinfer.fa2.paged_prefill/sm9.0/q=bf16/kv=nvfp4/d=128/NHD/p16/g4/causal/long`."""
    parts = [kernel, "cpu" if sm == "cpu" else f"sm{sm}"]
    for key, label in (("q_dtype", "q"), ("kv_dtype", "kv"), ("o_dtype", "o")):
        value = point.get(key)
        if value is not None:
            parts.append(f"{label}={SHORT_DTYPE.get(value, value)}")
    if point.get("head_size") is not None:
        parts.append(f"d={point['head_size']}")
    if point.get("layout") is not None:
        parts.append(str(point["layout"]))
    if point.get("page_size") is not None:
        parts.append(f"p{point['page_size']}")
    if point.get("group") is not None:
        parts.append(f"g{point['group']}")
    if point.get("causal") is not None:
        parts.append("causal" if point["causal"] else "full")
    if point.get("tensor_cores") is not None:
        parts.append("tc" if point["tensor_cores"] else "notc")
    parts += [part for part in extra if part]
    return "/".join(parts)
