"""What a library says of the kernel that the engine took for a linear layer."""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, Any

from compatcheck.resolve.configuration import FIELDS
from compatcheck.resolve.kernel import KernelCell
from compatcheck.resolve.parts import NOTHING_SAID, Library

if TYPE_CHECKING:
    from compatcheck.resolve.resolver import Resolver
    from compatcheck.resolve.verdict import LinearAnswer

_FIELDS = frozenset(FIELDS)
_NOTHING: frozenset[str] = frozenset()
_CACHE_LIMIT = 65536

_called = attrgetter("sm", "dtype", "flashinfer_version", "torch_version", "cuda_version")


class LinearLibrary:
    """Asks the resolver's kernels, and keeps what they say; the same answers are one object."""

    def __init__(self, resolver: Resolver) -> None:
        self._resolver = resolver
        self._known: dict[tuple[Any, ...], Library] = {}
        self._equal: dict[frozenset[str], Library] = {}

    def ask(self, answer: LinearAnswer, facts: Any) -> Library:
        """Return the library's refusal of the kernel that the engine took, and what nobody has stated."""
        id_ = answer.library_kernel
        if id_ is None or id_ not in self._resolver.matrix.kernels:
            return NOTHING_SAID
        key = (answer, *_called(facts))
        known = self._known.get(key)
        if known is None:
            if len(self._known) > _CACHE_LIMIT:
                self._known.clear()
            known = self._known[key] = self._asked(id_, answer, facts)
        return known

    def _asked(self, id_: str, answer: LinearAnswer, facts: Any) -> Library:
        program = self._resolver.kernel(id_)
        cell = KernelCell(
            sm=facts.sm,
            q_dtype="nvfp4" if answer.compute == "native" else facts.dtype,
            kv_dtype="nvfp4",
            o_dtype=facts.dtype,
            in_features=answer.padded_in_features,
            out_features=answer.padded_out_features,
            flashinfer_version=facts.flashinfer_version,
            torch_version=facts.torch_version,
            cuda_version=facts.cuda_version,
        )
        make = self._resolver.make
        present = program.present(facts.flashinfer_version)
        if present is False:
            return Library((make.kernel_missing(id_, program.kernel, facts),), None, _NOTHING)
        refusal = program.refusal(cell)
        if refusal is not None:
            return Library((make.from_refusal(id_, program.kernel, refusal, facts),), None, _NOTHING)
        supported, axes = program.supports(cell)
        if supported is False:
            said = ", ".join(f"{axis}={getattr(cell, axis)}" for axis, ok in axes.items() if ok is False)
            return Library((), f"the matrix does not state that {id_} runs with {said}", _NOTHING)
        missing = program.missing(cell) & _FIELDS if supported is None else _NOTHING
        if not present:
            missing |= {"flashinfer_version"}
        return self._equal.setdefault(missing, Library((), None, missing))
