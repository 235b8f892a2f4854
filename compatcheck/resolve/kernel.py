"""A kernel against one cell: is it there in this version, does it take these dtypes and sizes, how does it refuse."""

from __future__ import annotations

import msgspec

from compatcheck.matrix.model import Grants, Kernel, Refusal, Sm
from compatcheck.matrix.versions import contains, parse
from compatcheck.resolve.conditions import AllOf, AnyOf, Compiler, Constant, Predicate

KERNEL_DTYPES = {
    "fp8": "fp8_e4m3",
    "fp8_inc": "fp8_e4m3",
    "nvfp4_4over6": "nvfp4",
}
"""KV-cache dtype of the engine -> element type that the kernel sees, where the names differ."""

CALLED = (
    "sm",
    "dtype",
    "kv_cache_dtype",
    "head_size",
    "num_qo_heads",
    "num_kv_heads",
    "flashinfer_version",
    "torch_version",
    "cuda_version",
    "slot_mapping_helpers",
)
"""Fields of a configuration that its kernels' calls, and findings about them, depend on; the page is one thing more."""


class KernelCell(msgspec.Struct, frozen=True, kw_only=True):
    """One call of a kernel: dtypes by their matrix names, head size in elements, page size in tokens.

    A GEMM's `q_dtype` is that of the activations, its `kv_dtype` that of the weight, K and N are `in_features` and
    `out_features`, in elements.
    """

    sm: str | None = None
    q_dtype: str | None = None
    kv_dtype: str | None = None
    o_dtype: str | None = None
    head_size: int | None = None
    page_size: int | None = None
    layout: str | None = None
    causal: bool | None = None
    group: int | None = None
    tensor_cores: bool | None = None
    in_features: int | None = None
    out_features: int | None = None
    flashinfer_version: str | None = None
    torch_version: str | None = None
    cuda_version: str | None = None


class KernelProgram:
    """A kernel's facts, compiled."""

    def __init__(self, id_: str, kernel: Kernel, sms: dict[str, Sm]) -> None:
        self.id = id_
        self.kernel = kernel
        compiler = Compiler(sms, frozenset(KernelCell.__struct_fields__), nullable=frozenset())
        self._sm = compiler.condition({"sm": kernel.sms}) if kernel.sms else Constant(False)
        self._q = compiler.condition({"q_dtype": kernel.q_dtypes}) if kernel.q_dtypes else Constant(True)
        self._kv = self._kv_dtypes(kernel, compiler)
        self._head = self._grants("head_size", kernel.head_sizes, compiler)
        self._page = self._grants("page_size", kernel.page_sizes, compiler)
        self.takes = (self._sm, self._q, self._kv, self._head)
        """What decides whether it takes a call, the page apart."""
        self.refusals: list[tuple[Refusal, Predicate]] = [(r, compiler.condition(r.when)) for r in kernel.refusals]

    @staticmethod
    def _grants(field: str, grants: Grants, compiler: Compiler) -> Predicate:
        if not grants:
            return Constant(True)
        return AnyOf(
            [compiler.condition({field: g.values, **({"all_of": [g.when]} if g.when else {})}) for g in grants]
        )

    def _kv_dtypes(self, kernel: Kernel, compiler: Compiler) -> Predicate:
        parts: list[Predicate] = []
        for grant in kernel.kv_dtypes:
            values = grant.values if isinstance(grant.values, list) else [grant.values]
            when = {"all_of": [grant.when]} if grant.when else {}
            for value in values:
                if value == "same":
                    parts += [
                        compiler.condition({"q_dtype": d, "kv_dtype": d, **when})
                        for d in kernel.q_dtypes or ["bfloat16"]
                    ]
                elif isinstance(value, str):
                    parts.append(compiler.condition({"kv_dtype": value, **when}))
            if isinstance(grant.values, dict):
                parts.append(compiler.condition({"kv_dtype": grant.values, **when}))
        return AnyOf(parts) if parts else Constant(True)

    def present(self, version: str | None) -> bool | None:
        """Return whether the library at this version has the symbol; None where builds of it differ."""
        kernel = self.kernel
        if version is None:
            return None
        if kernel.uncertain and contains(kernel.uncertain, version):
            return None
        at = parse(version)
        if kernel.since and at < parse(kernel.since) and parse(kernel.since).release != at.release:
            return False
        return not (kernel.until and at >= parse(kernel.until))

    def supports(self, cell: KernelCell) -> tuple[bool | None, dict[str, bool | None]]:
        """Return whether the matrix says that this cell runs, and the answer per axis."""
        axes = {
            "sm": self._sm.test(cell),
            "q_dtype": self._q.test(cell),
            "kv_dtype": self._kv.test(cell),
            "head_size": self._head.test(cell),
            "page_size": True if cell.page_size is None else self._page.test(cell),
        }
        if False in axes.values():
            return False, axes
        return (None if None in axes.values() else True), axes

    def missing(self, cell: KernelCell) -> frozenset[str]:
        """Return the missing facts that keep `supports` from deciding."""
        return AllOf(list(self.takes)).missing(cell)

    def refusal(self, cell: KernelCell) -> Refusal | None:
        """Return how the library refuses this cell, if the matrix declares it."""
        for refusal, condition in self.refusals:
            if refusal.versions and cell.flashinfer_version is None:
                continue
            if refusal.versions and not contains(refusal.versions, cell.flashinfer_version or "0"):
                continue
            if condition.test(cell) is True:
                return refusal
        return None
