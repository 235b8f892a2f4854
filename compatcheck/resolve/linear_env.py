"""Values of VLLM_NVFP4_GEMM_BACKEND that a release refuses, with its words."""

from __future__ import annotations

from typing import NamedTuple

from compatcheck.matrix.linear_model import Linear
from compatcheck.resolve.backend import of_release
from compatcheck.resolve.findings import sources
from compatcheck.resolve.verdict import Finding, FindingSource


class EnvRefusal(NamedTuple):
    """What a release says of a value that it does not have."""

    value: str
    known: tuple[str, ...]
    words: str
    exception: str
    sources: tuple[FindingSource, ...]


def env_refusal(linear: Linear, release: str, value: str | None) -> EnvRefusal | None:
    """Return the refusal of a value; None where it is taken, not given, or the release does not read the variable."""
    if value is None:
        return None
    lines, said = of_release(linear.env_values, release), of_release(linear.env_words, release)
    if not lines or not said or value in lines[0].values:
        return None
    words = said[0].words.replace("{value}", value).replace("{values}", str(lines[0].values))
    read = sources([*lines[0].sources, *said[0].sources])
    return EnvRefusal(value, tuple(lines[0].values), words, said[0].exception, read)


def env_not_in_release(refusal: EnvRefusal, title: str, release: str, line: str | None) -> Finding:
    """Return the finding for a refused value."""
    return Finding(
        code="linear-gemm-env-not-in-release",
        name="VLLM_NVFP4_GEMM_BACKEND value unknown to this release",
        refuser="engine",
        bites="init",
        effect="unsupported",
        message=f"{title} {release} refuses VLLM_NVFP4_GEMM_BACKEND={refusal.value}; "
        f"it takes {', '.join(refusal.known)}.",
        words=refusal.words,
        exception=refusal.exception,
        required=", ".join(refusal.known),
        actual=f"nvfp4_gemm_backend={refusal.value}",
        fix="Write one of these values, or remove it.",
        sources=refusal.sources,
        line=line,
    )
