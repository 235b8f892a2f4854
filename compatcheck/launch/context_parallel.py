"""Context parallelism: the sizes, the ranks, the KV heads and the query heads must fit each other."""

from __future__ import annotations

from compatcheck.launch import findings
from compatcheck.matrix.versions import parse
from compatcheck.resolve.verdict import Finding, FindingSource

_GQA = FindingSource("vllm/config/model.py:ModelConfig.verify_with_parallel_config@0.33.0")
_SIZES = FindingSource("vllm/config/parallel.py:ParallelConfig._validate_parallel_config@0.33.0")
PCP_AXES_SINCE = "0.26.0"
"""First release that judges DCP against PCP; before, the tensor-parallel size alone had to divide by it."""
ERRORS_SINCE = "0.27.0"
"""First release whose texts on heads are those of 0.33.0; they were assertions before."""


def sizes_finding(ranks: int, pcp: int, dcp: int, release: str) -> Finding | None:
    """Return the finding for sizes that the parallel configuration refuses for any model; None if they fit."""
    if pcp > 1 and parse(release) >= parse(PCP_AXES_SINCE):
        fitting = sorted({1, pcp, ranks * pcp})
        if dcp in fitting:
            return None
        required = f"a DCP size of {', '.join(str(size) for size in fitting[:-1])} or {fitting[-1]}"
        words = (
            "When PCP is enabled, DCP must be disabled, span the PCP axis, or span the full TP x PCP axis. "
            f"Got TP={ranks}, PCP={pcp}, DCP={dcp}; valid DCP sizes are {fitting}."
        )
    elif ranks % dcp:
        gap = " " if parse(release) >= parse(PCP_AXES_SINCE) else ""
        required = f"a DCP size that divides {ranks}"
        words = f"tp_size={ranks} must be divisible by{gap}dcp_size={dcp}."
    else:
        return None
    return findings.make(
        "launch-dcp-sizes",
        "The decode context parallel size does not fit the other sizes",
        f"--decode-context-parallel-size {dcp} with --tensor-parallel-size {ranks}"
        + (f" and --prefill-context-parallel-size {pcp}" if pcp > 1 else "")
        + f" needs {required}.",
        effect="unsupported",
        required=required,
        actual=f"decode_context_parallel_size={dcp}",
        why="Decode context parallelism takes no GPUs of its own: it splits the group of tensor parallelism.",
        fix="Choose --decode-context-parallel-size accordingly.",
        words=words,
        exception="ValueError",
        source=_SIZES,
    )


def gqa_finding(name: str | None, heads: int, kv_heads: int, ranks: int, dcp: int, release: str) -> Finding | None:
    """Return the finding for a size that the engine refuses, counts being those of the whole model; None if it fits.

    Not for MLA models, whose latent has no heads. The conditions have been the same since 0.18.1; the texts were
    assertions before 0.27.
    """
    group, most = heads // kv_heads, ranks // kv_heads
    if ranks <= kv_heads:
        required, actual = f"a tensor-parallel size above {kv_heads}", f"tensor_parallel_size={ranks}"
        words = (
            f"Decode context parallelism for GQA/MQA requires `--tensor-parallel-size` ({ranks}) to be greater than "
            f"the model's total number of KV heads ({kv_heads}). Increase `--tensor-parallel-size` or set "
            "`--decode-context-parallel-size 1`."
        )
    elif dcp > most:
        required, actual = f"a DCP size of at most {most}", f"decode_context_parallel_size={dcp}"
        words = (
            f"`--decode-context-parallel-size` ({dcp}) exceeds the maximum supported value ({most}) for "
            f"`--tensor-parallel-size` ({ranks}) and {kv_heads} model KV heads."
        )
    elif group % dcp:
        required, actual = f"a DCP size that divides {group}", f"decode_context_parallel_size={dcp}"
        words = (
            f"The model's number of query heads per KV head ({group}) must be divisible by "
            f"`--decode-context-parallel-size` ({dcp}) for GQA/MQA."
        )
    else:
        return None
    exact = parse(release) >= parse(ERRORS_SINCE)
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
        words=words if exact else None,
        exception="ValueError" if exact else "AssertionError",
        source=_GQA,
    )
