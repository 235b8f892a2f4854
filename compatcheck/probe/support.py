"""KV-cache dtype by backend for one GPU, each cell judged by the resolver, with what automatic selection picks."""

from __future__ import annotations

from typing import Any

import msgspec

from compatcheck.matrix.load import LoadedMatrix
from compatcheck.resolve.configuration import Configuration
from compatcheck.resolve.normalise import normalise
from compatcheck.resolve.verdict import Verdict, VerdictName

MLA_DIMENSIONS: dict[str, Any] = {
    "use_mla": True,
    "head_size": 576,
    "kv_lora_rank": 512,
    "qk_nope_head_dim": 128,
    "qk_rope_head_dim": 64,
    "v_head_dim": 128,
    "num_qo_heads": 128,
    "num_kv_heads": 1,
}
"""DeepSeek V3's attention dimensions, the ones most MLA models share (its config.json)."""


class SupportRow(msgspec.Struct, frozen=True, kw_only=True):
    """One KV-cache dtype: what is picked, and the verdict of each backend."""

    kv_cache_dtype: str
    pick: str | None
    verdict: VerdictName
    backends: dict[str, VerdictName]
    codes: tuple[str, ...] = ()


class SupportTable(msgspec.Struct, frozen=True, kw_only=True):
    """The table of one GPU for one kind of model."""

    sm: str
    model: str
    engine_version: str
    flashinfer_version: str | None
    """None where FlashInfer is not installed."""
    rows: tuple[SupportRow, ...]


def support(loaded: LoadedMatrix, base: Configuration, *, mla: bool) -> SupportTable:
    """Return the table for a configuration that names SM and versions; `base.head_size` is kept where it is not MLA."""
    dimensions: dict[str, Any] = MLA_DIMENSIONS if mla else {"head_size": base.head_size or 128}
    base = msgspec.structs.replace(base, backend=None, kv_cache_dtype=None, **dimensions)
    normal = normalise(loaded.matrix, base)
    engine = loaded.resolver.engine(str(normal.facts.engine), normal.release)
    columns = [name for name in engine.backends if bool(engine.program(name).facts["mla"]) == mla]
    rows: list[SupportRow] = []
    for kv in engine.kv_cache_dtypes:
        picked = _judge(loaded, base, kv, None)
        verdicts = {
            name: _judge(loaded, _sparse(base, engine.program(name).facts["sparse"]), kv, name) for name in columns
        }
        rows.append(
            SupportRow(
                kv_cache_dtype=kv,
                pick=picked.selected,
                verdict=picked.verdict,
                backends={name: verdict.verdict for name, verdict in verdicts.items()},
                codes=tuple(dict.fromkeys(f.code for f in picked.findings if f.effect != "note")),
            )
        )
    return SupportTable(
        sm=str(normal.facts.sm),
        model="MLA, DeepSeek V3 dimensions" if mla else f"head size {base.head_size}",
        engine_version=str(normal.facts.engine_version),
        flashinfer_version=normal.facts.flashinfer_version,
        rows=tuple(rows),
    )


def _sparse(base: Configuration, sparse: bool | None) -> Configuration:
    return msgspec.structs.replace(base, use_sparse=True, index_topk=2048) if sparse else base


def _judge(loaded: LoadedMatrix, base: Configuration, kv: str, backend: str | None) -> Verdict:
    configuration = msgspec.structs.replace(base, kv_cache_dtype=kv, backend=backend)
    verdict: Verdict = loaded.resolver.judge(normalise(loaded.matrix, configuration))
    return verdict
