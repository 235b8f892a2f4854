"""Which kernel computes NVFP4 linear layers on one GPU, judged by the resolver."""

from __future__ import annotations

import msgspec

from compatcheck.matrix.load import LoadedMatrix
from compatcheck.resolve.configuration import LINEAR_SCHEMES, Configuration
from compatcheck.resolve.normalise import normalise
from compatcheck.resolve.verdict import Verdict, VerdictName


class LinearPick(msgspec.Struct, frozen=True, kw_only=True):
    """What is picked for a scheme on a GPU, how it computes, and the verdict."""

    sm: str
    scheme: str
    kernel: str | None
    compute: str | None
    verdict: VerdictName
    codes: tuple[str, ...] = ()


def linear_picks(loaded: LoadedMatrix, base: Configuration) -> tuple[LinearPick, ...]:
    """Return the picks for a configuration that names SM and versions; none where the matrix has no linear section."""
    engine = loaded.matrix.engines.get(base.engine or "vllm")
    if engine is None or engine.linear is None:
        return ()
    picks: list[LinearPick] = []
    for scheme in LINEAR_SCHEMES:
        asked = msgspec.structs.replace(base, linear=scheme)
        normal = normalise(loaded.matrix, asked)
        verdict: Verdict = loaded.resolver.judge(normal)
        picks.append(
            LinearPick(
                sm=str(normal.facts.sm),
                scheme=scheme,
                kernel=verdict.selected,
                compute=verdict.linear.compute if verdict.linear else None,
                verdict=verdict.verdict,
                codes=tuple(dict.fromkeys(f.code for f in verdict.findings if f.effect != "note")),
            )
        )
    return tuple(picks)
