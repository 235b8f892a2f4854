"""Global NVFP4 decode scales derived from the largest magnitude of a tensor."""

from __future__ import annotations

import math
from typing import Any

from compatcheck.kv_cache._arrays import as_float32, is_torch
from compatcheck.kv_cache._numpy import np
from compatcheck.kv_cache.minifloat import E2M1_MAX, E4M3_MAX


def global_scale_full_range(x: Any) -> float:
    """amax(|x|) / (6 * 448): the largest element maps to 6 under block scale 448, so no block saturates.

    x is a number (amax itself), a numpy array or a torch tensor. The result is a decode scale, rounded to
    float32. A zero amax gives 1.0, which is as good as any other. ValueError when amax is NaN or infinite.
    """
    amax = _amax(x)
    if amax == 0:
        return 1.0
    return float(max(np.float32(amax / (E2M1_MAX * E4M3_MAX)), np.finfo(np.float32).tiny))


def global_scale_quantize_paged(x: Any) -> float:
    """amax(|x|) / 448, the choice of FlashInfer's `nvfp4_quantize_paged_kv_cache` (0.7.2.post1).

    Block scales then stay at or under 448/6, so a sixth of E4M3's range is used. Rounded as FlashInfer
    rounds: the encode scale 448 / max(amax, 1e-12) in float32, then its inverse in float32. ValueError as
    above.
    """
    encode = np.float32(E4M3_MAX / max(_amax(x), 1e-12))
    return float(np.float32(1) / encode)


def _amax(x: Any) -> float:
    if isinstance(x, np.ndarray) or is_torch(x):
        values = as_float32(x, "x")
        amax = float(np.max(np.abs(values))) if values.size else 0.0
    else:
        amax = abs(float(x))
    if not math.isfinite(amax):
        raise ValueError(f"a global scale needs finite values, got a largest magnitude of {amax}")
    return amax
