"""The oracle's rows, and the configuration that each one asked about."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from compatcheck.resolve.configuration import Configuration

FOLDER = Path(__file__).parent.parent / "data" / "oracle"

_DSV3 = {
    "num_qo_heads": 128,
    "num_kv_heads": 1,
    "kv_lora_rank": 512,
    "qk_nope_head_dim": 128,
    "qk_rope_head_dim": 64,
    "v_head_dim": 128,
}
_NOPE512 = _DSV3 | {"num_qo_heads": 64, "qk_nope_head_dim": 256, "qk_rope_head_dim": 0, "v_head_dim": 256}
MODELS: dict[str, dict[str, Any]] = {
    "gqa32/8": {"num_qo_heads": 32, "num_kv_heads": 8},
    "mha32/32": {"num_qo_heads": 32, "num_kv_heads": 32},
    "dsv3": _DSV3,
    "dsv32": _DSV3 | {"index_topk": 2048},
    "nope512": _NOPE512,
    "nope512s": _NOPE512 | {"index_topk": 2048},
    "lora256": _DSV3 | {"num_qo_heads": 64, "kv_lora_rank": 256, "qk_nope_head_dim": 64},
    "dsv4": _DSV3
    | {"num_qo_heads": 64, "qk_nope_head_dim": 448, "v_head_dim": 512, "index_topk": 512, "compress_ratios": (4, 128)},
}
"""The model shapes behind the rows' `model` names."""

_FIELDS = ("kv_cache_dtype", "dtype", "head_size", "block_size", "use_mla", "has_sink", "use_sparse")


def files() -> list[Path]:
    """Every oracle file, newest release last."""
    return sorted(FOLDER.glob("gates-vllm-*.jsonl.gz"))


def release(path: Path) -> str:
    """The release a file is about."""
    return path.name.removeprefix("gates-vllm-").removesuffix(".jsonl.gz")


def read(path: Path, *kinds: str) -> Iterator[dict[str, Any]]:
    """The rows of these kinds."""
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            row = json.loads(line)
            if row["kind"] in kinds:
                yield row


def configuration(row: dict[str, Any], **more: Any) -> Configuration:
    """The configuration a row asked about: cubins available and CUDA 13.0, as every file's meta row says."""
    fields = {name: row[name] for name in _FIELDS if name in row} | MODELS.get(row.get("model", ""), {})
    if row.get("num_heads") is not None:
        fields["num_qo_heads"] = row["num_heads"]
    return Configuration(
        engine_version=row["vllm"], sm=row["sm"], cuda_version="13.0", cubins_available=True, **fields, **more
    )
