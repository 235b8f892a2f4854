"""Kernels that are backends of one function: there where the function lists them, on the SMs that it lists."""

from __future__ import annotations

from compatcheck.audit.acknowledged import Acknowledged
from compatcheck.audit.compare_flashinfer import FlashInferComparer
from compatcheck.audit.flashinfer_reading import FlashInferReading, SymbolReading
from compatcheck.audit.messages import Wheel
from compatcheck.matrix.load import LoadedMatrix

SYMBOL = "flashinfer.gemm.gemm_base:mm_fp4"
BACKENDS: dict[str, list[int] | None] = {
    "cudnn": [100, 103, 110, 120, 121],
    "trtllm": [100, 103],
    "cutlass": [100, 103, 110, 120, 121],
    "cute-dsl": [100, 103, 120, 121],
    "b12x": [120, 121],
}


def told(loaded: LoadedMatrix, version: str, backends: dict[str, list[int] | None]) -> list[tuple[str, str, str, str]]:
    reading = FlashInferReading(symbols={SYMBOL: SymbolReading(present=True, backends=backends)})
    wheel = Wheel(name="flashinfer-python", version=version)
    comparer = FlashInferComparer(loaded, wheel, reading, Acknowledged(schema=1, gates=[]))
    comparer.compare()
    return [(d.kind, d.subject, d.where, d.library) for d in comparer.differences]


def test_a_backend_that_came_later(loaded: LoadedMatrix) -> None:
    without = {name: sms for name, sms in BACKENDS.items() if name != "b12x"}
    early: dict[str, list[int] | None] = {"cute-dsl": [100, 103]}
    assert told(loaded, "0.6.8.post1", {**without, **early}) == []
    assert told(loaded, "0.7.4", BACKENDS) == []
    assert told(loaded, "0.6.8.post1", {**BACKENDS, **early}) == [("symbol", "flashinfer.mm_fp4.b12x", "", "has it")]
    assert told(loaded, "0.7.4", without) == [("symbol", "flashinfer.mm_fp4.b12x", "", "does not have it")]


def test_an_sm_that_a_backend_gains(loaded: LoadedMatrix) -> None:
    more = {**BACKENDS, "trtllm": [100, 103, 120]}
    assert told(loaded, "0.7.4", more) == [("capability", "flashinfer.mm_fp4.trtllm", "sm 12.0", "accepts it")]
