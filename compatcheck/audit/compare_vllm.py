"""A vLLM release as it was read, against the matrix as the resolver answers for that release."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compatcheck.audit.compare_backends import compare_backends
from compatcheck.audit.compare_linear import compare_linear
from compatcheck.audit.compare_order import compare_order
from compatcheck.audit.compare_prefill import compare_prefill
from compatcheck.audit.compare_release import compare_release, compare_vocabulary
from compatcheck.audit.compare_selector import compare_selector
from compatcheck.audit.comparison import Comparison
from compatcheck.audit.reading.explore import Gate

if TYPE_CHECKING:
    from compatcheck.audit.messages import Wheel
    from compatcheck.audit.vllm_reading import VllmReading
    from compatcheck.matrix.load import LoadedMatrix

_QUESTIONS = (
    compare_release,
    compare_vocabulary,
    compare_selector,
    compare_backends,
    compare_prefill,
    compare_order,
    compare_linear,
)


def compare_vllm(loaded: LoadedMatrix, wheel: Wheel, read: VllmReading, flashinfer: str | None) -> Comparison:
    """Return all differences; without a FlashInfer version, with the one that the matrix says the release pins."""
    run = Comparison(loaded, wheel, read, flashinfer)
    for compare in _QUESTIONS:
        compare(run)
    run.strange("vllm", read.strange)
    for file, why in read.unreadable.items():
        run.strange("vllm", [Gate(file=file, line=0, text=file, why=why)])
    return run
