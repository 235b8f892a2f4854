"""The cause that fi-fa3-fp8-mask-leaks names gives the very errors that the GPU showed.

The inputs of a cell are what torch's CUDA generator makes of the cell's seed, so they can be made again without a GPU
(Philox 4x32-10, Box-Muller, on 132 multiprocessors of 2,048 threads). Decode over them with a mask of -5e4 before
scaling and zeros behind the last key of a tile has to come out as wrong as it did.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from compatcheck.smoke.evidence import CellEvidence, read_evidence
from compatcheck.smoke.shapes import lengths

EVIDENCE = Path(__file__).parents[2] / "docs" / "evidence"
SEED = 1234
MASK = 5e4
KV_HEADS = 2
TILE = {64: 128, 128: 128, 256: 64}
"""CTA_KV by head size: hopper/quantization/prefill_sm90.cuh:BatchFP8PrefillWithPagedKVCacheDispatched."""
FLOATS = {"e4m3": (3, -6, 448.0), "e5m2": (2, -14, 57344.0)}
"""Mantissa bits, smallest exponent, largest value."""
ID = re.compile(r"flashinfer\.fa3\.decode/sm9\.0/q=(e\wm\d)/kv=\1/d=(\d+)/\w+/p(\d+)/g(\d+)/ragged$")
Array = np.ndarray[Any, np.dtype[Any]]


class CudaRandom:
    """`torch.randn(..., device="cuda")` after `torch.manual_seed`, on a GPU with 132 multiprocessors."""

    def __init__(self, seed: int) -> None:
        self.seed, self.used = seed, 0

    def randn(self, *shape: int) -> Array:
        count = int(np.prod(shape))
        threads = 256 * min(132 * 8, -(-count // 256))
        rounds = (count - 1) // (4 * threads) + 1
        parts: list[Array] = []
        for _ in range(rounds):
            a, b, c, d = self._philox(threads)
            for radius, angle in ((a, b), (c, d)):
                r = np.sqrt(-2 * np.log((radius + 0.5) * 2.0**-32))
                turn = (angle + 0.5) * (2.0**-31 * np.pi)
                parts += [r * np.sin(turn), r * np.cos(turn)]
            self.used += 1
        return np.concatenate(parts)[:count].reshape(shape)

    def _philox(self, threads: int) -> list[Array]:
        low = np.uint64(0xFFFFFFFF)
        zero = np.zeros(threads, np.uint64)
        words = [zero + np.uint64(self.used), zero, np.arange(threads, dtype=np.uint64), zero]
        key = [self.seed & 0xFFFFFFFF, self.seed >> 32]
        for _ in range(10):
            first, second = np.uint64(0xD2511F53) * words[0], np.uint64(0xCD9E8D57) * words[2]
            words = [
                (second >> np.uint64(32)) ^ words[1] ^ np.uint64(key[0]),
                second & low,
                (first >> np.uint64(32)) ^ words[3] ^ np.uint64(key[1]),
                first & low,
            ]
            key = [(key[0] + 0x9E3779B9) & 0xFFFFFFFF, (key[1] + 0xBB67AE85) & 0xFFFFFFFF]
        return [word.astype(np.float64) for word in words]


def rounded(x: Array, mantissa: int, least: int, largest: float = np.inf) -> Array:
    size = np.abs(x)
    step = 2.0 ** (np.maximum(np.floor(np.log2(np.where(size > 0, size, 1.0))), least) - mantissa)
    return np.clip(np.round(x / step) * step, -largest, largest)


def quantised(x: Array, name: str) -> tuple[Array, float]:
    scale = float(np.abs(x).max()) / FLOATS[name][2]
    return rounded(x / scale, *FLOATS[name]), scale


def decode_error(name: str, head: int, page: int, group: int, mask: float) -> float:
    """Return ||out - ref|| / ||ref|| of decode with a mask of -mask before scaling."""
    kv_lens = lengths("ragged", page, decode=True).kv
    random = CudaRandom(SEED)
    shapes = ((len(kv_lens), KV_HEADS * group), (sum(kv_lens), KV_HEADS), (sum(kv_lens), KV_HEADS))
    (q, qs), (k, ks), (v, _) = (quantised(rounded(random.randn(*s, head), 7, -126), name) for s in shapes)
    scale = qs * ks / head**0.5
    off = size = 0.0
    start = 0
    for row, count in enumerate(kv_lens):
        for h in range(q.shape[1]):
            keys, values = k[start : start + count, h // group], v[start : start + count, h // group]
            logits = np.concatenate([keys @ q[row, h], np.full(-count % TILE[head], -mask)]) * scale
            weights = np.exp(logits - logits.max())
            want = weights[:count] @ values / weights[:count].sum()
            got = weights[:count] @ values / weights.sum()
            off, size = off + float(((got - want) ** 2).sum()), size + float((want**2).sum())
        start += count
    return float((off / size) ** 0.5)


def seen() -> list[CellEvidence]:
    cells = read_evidence(EVIDENCE / "h200-flashinfer-0.6.18.post1.json").cells
    return [cell for cell in cells if ID.match(cell.id)]


def test_the_evidence_has_the_cells() -> None:
    assert len(seen()) >= 8


@pytest.mark.parametrize("cell", seen(), ids=lambda cell: str(cell.id))
def test_a_finite_mask_gives_the_measured_error(cell: CellEvidence) -> None:
    found = ID.match(cell.id)
    assert found is not None
    where = (found[1], int(found[2]), int(found[3]), int(found[4]))
    assert decode_error(*where, mask=MASK) == pytest.approx(cell.errors["out"], rel=0.002)
    assert decode_error(*where, mask=np.inf) < 1e-12
    assert cell.code == "fi-fa3-fp8-mask-leaks"
    assert cell.judgement == "confirmed"
