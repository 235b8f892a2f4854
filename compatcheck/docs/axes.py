"""The axes of the generated tables: attention kinds, model shapes, sinks, FlashInfer versions.

What is not an axis is at the resolver's default (bfloat16, decoder, no block size asked, no parallelism features).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from compatcheck.matrix.versions import parse

if TYPE_CHECKING:
    from compatcheck.matrix.model import Engine, Matrix


class Kind(msgspec.Struct, frozen=True, kw_only=True):
    """A kind of attention, which decides which backends are asked."""

    id: str
    title: str
    use_mla: bool
    use_sparse: bool


class Shape(msgspec.Struct, frozen=True, kw_only=True):
    """The sizes of a model's attention. `fields` are configuration fields: elements, ranks and head counts."""

    id: str
    title: str
    fields: dict[str, Any]
    since: str | None = None
    """First engine release that has such a model; None where every covered one has."""


KINDS = (
    Kind(id="standard", title="Standard attention", use_mla=False, use_sparse=False),
    Kind(id="standard-sparse", title="Standard attention, sparse", use_mla=False, use_sparse=True),
    Kind(id="mla", title="MLA decode", use_mla=True, use_sparse=False),
    Kind(id="mla-sparse", title="MLA, sparse", use_mla=True, use_sparse=True),
)

HEAD_SIZES = (64, 80, 96, 128, 192, 256, 512)

_STANDARD = tuple(
    Shape(id=str(size), title=str(size), fields={"head_size": size, "num_qo_heads": 32, "num_kv_heads": 8})
    for size in HEAD_SIZES
)


V4, V41 = "deepseek_v4", "deepseek_v41"


def _mla(
    id_: str, title: str, lora: int, nope: int, rope: int, v: int, heads: int, since: str | None = None, **more: Any
) -> Shape:
    fields = {
        "head_size": 512 if id_.startswith("dsv4") else lora + rope,
        "kv_lora_rank": lora,
        "qk_nope_head_dim": nope,
        "qk_rope_head_dim": rope,
        "v_head_dim": v,
        "num_qo_heads": heads,
        "num_kv_heads": 1,
        **more,
    }
    return Shape(id=id_, title=title, fields=fields, since=since)


_MLA = (
    _mla("dsv3", "576 (DeepSeek V3)", 512, 128, 64, 128, 128),
    _mla("nope512", "512 (no rotary part)", 512, 256, 0, 256, 64),
    _mla("lora256", "320 (latent rank 256)", 256, 64, 64, 128, 64),
)
_MLA_SPARSE = (
    _mla("dsv32", "576 (DeepSeek V3.2)", 512, 128, 64, 128, 128, index_topk=2048),
    _mla("nope512s", "512 (no rotary part)", 512, 256, 0, 256, 64, index_topk=2048),
    _mla(
        "dsv4",
        "512 (DeepSeek V4)",
        512,
        448,
        64,
        512,
        64,
        "0.20.0",
        index_topk=512,
        compress_ratios=(4, 128),
        model_type=V4,
    ),
    _mla("dsv41", "512 (DeepSeek V4.1)", 512, 448, 64, 512, 64, "0.30.0", index_topk=512, model_type=V41),
)

SHAPES: dict[str, tuple[Shape, ...]] = {
    "standard": _STANDARD,
    "standard-sparse": _STANDARD,
    "mla": _MLA,
    "mla-sparse": _MLA_SPARSE,
}
"""Kind -> the model shapes that tables ask about. MLA: the cached head is latent rank plus rotary part."""


def shapes_of(kind: str, release: str) -> tuple[Shape, ...]:
    """Return the shapes of a kind that a release has models of."""
    at = parse(release)
    return tuple(shape for shape in SHAPES[kind] if shape.since is None or parse(shape.since) <= at)


SINKS = (False, True)


def kind_of(*, mla: bool, sparse: bool) -> Kind:
    """Return the kind of a backend that states these two facts."""
    return next(kind for kind in KINDS if kind.use_mla == mla and kind.use_sparse == sparse)


def releases(engine: Engine) -> list[str]:
    """Return the engine's releases, oldest first."""
    return sorted(engine.releases, key=parse)


def flashinfer_versions(matrix: Matrix, engine: Engine) -> list[str]:
    """Return every FlashInfer version worth a column, oldest first: those the matrix lists and those releases pin."""
    library = matrix.libraries.get("flashinfer")
    known = set(library.releases if library else ()) | {pins.flashinfer for pins in engine.releases.values()}
    return sorted(known, key=parse)


def all_shapes() -> list[Shape]:
    """Return the shapes of every kind, in the order of `KINDS`; a kind's own start at `shape_offset`."""
    return [shape for kind in KINDS for shape in SHAPES[kind.id]]


def shape_offset(kind: Kind) -> int:
    """Return where a kind's shapes start in `all_shapes`."""
    return sum(len(SHAPES[k.id]) for k in KINDS[: KINDS.index(kind)])
