"""What works instead: the nearest configurations, fewest changes first, each judged by the same resolver."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any

import msgspec

from compatcheck.matrix.versions import parse
from compatcheck.resolve.configuration import Configuration
from compatcheck.resolve.linear_alternatives import linear_changes
from compatcheck.resolve.normalise import ConfigurationError, normalise
from compatcheck.resolve.verdict import Alternative, Verdict

if TYPE_CHECKING:
    from compatcheck.resolve.resolver import Resolver

LIMIT = 5
KV_ORDER = ("fp8", "fp8_e4m3", "fp8_ds_mla", "nvfp4", "auto", "bfloat16")
"""KV-cache dtypes to offer: the smallest loss of capacity that most people accept first, 16-bit last.

Another name of the dtype that was asked for comes before them (gates go by the name), and so does 16-bit where that was
asked for.
"""
FORCED = ("block_size", "use_trtllm_attention", "flash_attn_version")
"""Options that the engine decides by itself where they are left out."""
DTYPES_ORDER = ("bfloat16", "float16")

MOST_ASKED = 60
"""How often the whole of a launch is asked: a whole is read anew for each change."""

Change = tuple[tuple[str, Any], ...]
Whole = Callable[[dict[str, Any]], bool]
"""Changes -> whether all that `given` is a part of works with them."""


def find_alternatives(
    resolver: Resolver,
    given: Configuration,
    verdict: Verdict,
    whole: Whole | None = None,
    others: Sequence[Change] = (),
) -> tuple[Alternative, ...]:
    """Return up to five configurations near `given` whose verdict is `supported` on the same GPU.

    Tried are: no forced backend, another backend, an option of the engine left to it, another KV-cache dtype, another
    16-bit dtype, a newer engine release (with its own FlashInfer), a newer FlashInfer, and pairs of these. For a linear
    layer: no forced kernel, another --linear-backend, newer releases. Nothing that changes the model is offered.

    Where `given` is one kind of layers of a launch, `whole` is asked of each that works, and `others` are changes that
    concern other kinds.
    """
    if (given.sm is None and not verdict.findings) or normalise(resolver.matrix, given).beyond is not None:
        return ()
    single = (
        _single_changes(resolver, given, verdict.selected) if given.linear is None else linear_changes(resolver, given)
    )
    single = [*others, *(change for change in single if change not in others)]
    found: list[Alternative] = []
    taken: set[frozenset[str]] = set()
    asked = 0
    for changes in [*((c,) for c in single), *combinations(single, 2)]:
        fields = frozenset(field for change in changes for field, _ in change)
        if len(fields) < sum(len(change) for change in changes) or any(old <= fields for old in taken):
            continue
        merged = {field: value for change in changes for field, value in change}
        answer = _try(resolver, given, merged)
        if answer is None:
            continue
        asked += 1
        if whole is None or whole(merged):
            found.append(answer)
            taken.add(fields)
        if len(found) >= LIMIT or (whole is not None and asked >= MOST_ASKED):
            break
    return tuple(found)


def _single_changes(resolver: Resolver, given: Configuration, selected: str | None) -> list[Change]:
    normal = normalise(resolver.matrix, given)
    facts = normal.facts
    engine = resolver.engine(str(facts.engine), normal.release)
    changes: list[Change] = []
    if given.backend is not None:
        changes.append((("backend", None),))
    elif selected is not None:  # what is picked anyway; some checks want it to be named
        changes.append((("backend", selected),))
    changes += [((field, None),) for field in FORCED if getattr(given, field) is not None]
    changes += [(("kv_cache_dtype", kv),) for kv in _kv_dtypes(facts) if kv in engine.kv_cache_dtypes]
    changes += [(("dtype", dtype),) for dtype in DTYPES_ORDER if dtype != facts.dtype]
    releases = sorted(engine.engine.releases, key=parse)
    newer = [r for r in releases if parse(r) > parse(normal.release)]
    changes += [(("engine_version", r), ("flashinfer_version", None)) for r in newer]
    if given.flashinfer_version is not None and "flashinfer" in resolver.matrix.libraries:
        at = parse(str(facts.flashinfer_version))
        changes += [
            (("flashinfer_version", v),) for v in resolver.matrix.libraries["flashinfer"].releases if parse(v) > at
        ]
    return changes


def _kv_dtypes(facts: Configuration) -> list[str]:
    """Return the KV-cache dtypes to offer, the nearest to the one asked for first."""

    def storage(kv: str) -> str:
        return {"auto": str(facts.dtype), "fp8": "fp8_e4m3"}.get(kv, kv)

    def is_16_bit(kv: str) -> bool:
        return kv in ("auto", "bfloat16", "float16")

    asked = str(facts.kv_cache_dtype)
    return sorted(
        (kv for kv in KV_ORDER if kv != asked),
        key=lambda kv: (storage(kv) != storage(asked), is_16_bit(asked) and not is_16_bit(kv)),
    )


def _try(resolver: Resolver, given: Configuration, changes: dict[str, Any]) -> Alternative | None:
    try:
        answer = resolver.judge(normalise(resolver.matrix, msgspec.structs.replace(given, **changes)))
    except ConfigurationError:
        return None
    if answer.verdict != "supported":
        return None
    pinned = next((a for a in answer.assumed if a.field == "flashinfer_version"), None)
    note = f"with FlashInfer {pinned.value}, its own pin" if pinned and "engine_version" in changes else None
    shown = {k: v for k, v in changes.items() if not (k == "flashinfer_version" and v is None)}
    return Alternative(changes=shown, verdict=answer.verdict, selected=answer.selected, note=note)
