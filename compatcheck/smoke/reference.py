"""Attention in float64 or float32, plainly, on the dequantised cache: what every kernel is compared with."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

_DOUBLE_UP_TO = 1 << 26


def attention(
    q: Any,
    k: Any,
    v: Any,
    *,
    scale: float,
    causal: bool = False,
    window_left: int = -1,
    soft_cap: float = 0.0,
    sinks: Any = None,
) -> Any:
    """Attention of one sequence: q [Lq, Hq, D], k [Lk, Hk, D], v [Lk, Hk, Dv] of any dtype -> [Lq, Hq, Dv] float32.

    Query head h reads KV head h // (Hq / Hk). The last query stands at the last key (bottom-right alignment): query i
    is at position p = Lk - Lq + i, sees keys j <= p where causal, and j >= p - window_left where window_left >= 0.
    Logits s = scale * q.k become soft_cap * tanh(s / soft_cap) where soft_cap > 0. `sinks` [Hq] adds exp(sink) to each
    head's denominator. Computed in float64 up to 2**26 logits, else in float32. A query that sees nothing gives 0.
    """
    import torch

    lq, lk, group = q.shape[0], k.shape[0], q.shape[1] // k.shape[1]
    precise = torch.float64 if lq * lk * q.shape[1] <= _DOUBLE_UP_TO else torch.float32
    q, k, v = (t.to(precise) for t in (q, k, v))
    k, v = k.repeat_interleave(group, dim=1), v.repeat_interleave(group, dim=1)
    logits = torch.einsum("qhd,khd->hqk", q, k) * scale
    if soft_cap > 0:
        logits = soft_cap * torch.tanh(logits / soft_cap)
    at = torch.arange(lq, device=q.device)[:, None] + (lk - lq)
    key = torch.arange(lk, device=q.device)[None, :]
    hidden = torch.zeros(lq, lk, dtype=torch.bool, device=q.device)
    if causal:
        hidden |= key > at
    if window_left >= 0:
        hidden |= key < at - window_left
    logits = logits.masked_fill(hidden, -math.inf)
    top = logits.amax(-1, keepdim=True).clamp_min(-1e30)
    if sinks is not None:
        top = torch.maximum(top, sinks.to(precise)[:, None, None])
    weights = torch.exp(logits - top)
    total = weights.sum(-1, keepdim=True)
    if sinks is not None:
        total = total + torch.exp(sinks.to(precise)[:, None, None] - top)
    weights = weights / total.clamp_min(1e-300 if precise == torch.float64 else 1e-30)
    return torch.einsum("hqk,khd->qhd", weights, v).float()


def ragged_attention(q: Any, k: Any, v: Any, q_lens: Sequence[int], kv_lens: Sequence[int], **options: Any) -> Any:
    """`attention` for sequences laid one after the other: q [sum q_lens, ...], k and v [sum kv_lens, ...]."""
    import torch

    out, a, b = [], 0, 0
    for lq, lk in zip(q_lens, kv_lens, strict=True):
        out.append(attention(q[a : a + lq], k[b : b + lk], v[b : b + lk], **options))
        a, b = a + lq, b + lk
    return torch.cat(out)
