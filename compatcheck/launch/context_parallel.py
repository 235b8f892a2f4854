"""Decode context parallelism of a GQA model: the ranks, the KV heads and the query heads must fit each other."""

from __future__ import annotations

from compatcheck.launch import findings
from compatcheck.resolve.verdict import Finding, FindingSource

_SOURCE = FindingSource("vllm/config/model.py:ModelConfig.verify_with_parallel_config@0.33.0")


def gqa_finding(name: str | None, heads: int, kv_heads: int, ranks: int, dcp: int) -> Finding | None:
    """Return the finding for a size that the engine refuses, counts being those of the whole model; None if it fits.

    Not for MLA models, whose latent has no heads. The conditions have been the same since 0.18.1; the texts were
    assertions before 0.27.
    """
    group, most = heads // kv_heads, ranks // kv_heads
    if ranks <= kv_heads:
        required, actual = f"a tensor-parallel size above {kv_heads}", f"tensor_parallel_size={ranks}"
    elif dcp > most:
        required, actual = f"a DCP size of at most {most}", f"decode_context_parallel_size={dcp}"
    elif group % dcp:
        required, actual = f"a DCP size that divides {group}", f"decode_context_parallel_size={dcp}"
    else:
        return None
    return findings.make(
        "launch-dcp-gqa",
        "The decode context parallel size does not fit the model's heads",
        f"{name} has {heads} query heads over {kv_heads} KV heads; --decode-context-parallel-size {dcp} with "
        f"--tensor-parallel-size {ranks} needs {required}.",
        effect="unsupported",
        required=required,
        actual=actual,
        why="The ranks that hold the same KV head share its tokens: there must be several of them, and the query heads "
        "of that KV head must divide among them.",
        fix="Choose --tensor-parallel-size and --decode-context-parallel-size accordingly, or a DCP size of 1.",
        source=_SOURCE,
    )
