"""Selection explained: the order in which a release tries backends, the pick, and what would make it pick another."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from compatcheck.matrix.versions import parse
from compatcheck.resolve.configuration import Configuration
from compatcheck.resolve.judgement import Judgement
from compatcheck.resolve.normalise import ConfigurationError, Normalised, normalise

if TYPE_CHECKING:
    from compatcheck.resolve.resolver import Resolver


class Candidate(msgspec.Struct, frozen=True, kw_only=True):
    """One backend in the release's order: accepted, refused with the selector's words, or undecided for a fact."""

    name: str
    rank: int
    accepted: bool | None
    picked: bool = False
    words: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()


class SelectionAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """What a release picks where no backend is forced; MLA prefill is selected apart from decode."""

    schema: int = 1
    release: str
    selected: str | None
    candidates: tuple[Candidate, ...]
    missing: tuple[str, ...] = ()
    prefill: tuple[Candidate, ...] | None = None
    prefill_selected: str | None = None
    answered_as: str | None = None


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """One change after which the backend is picked."""

    field: str
    value: Any
    of: str
    """Who would have to change it: command, engine, library, gpu or model."""


class WhyAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """Why a backend is not picked, and each single change that would make it the pick."""

    name: str
    picked: bool
    known: bool
    in_order: bool
    accepted: bool | None
    words: tuple[str, ...] = ()
    outranked_by: tuple[str, ...] = ()
    """Accepted backends that the release tries before it."""
    changes: tuple[Change, ...] = ()


class ForcedAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """What the engine says of a backend that the command forces, or the model brings: it then selects nothing."""

    name: str
    accepted: bool | None
    words: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    ground: str | None = None
    """Why it is this one where no command forces it: what the release sets for the model."""


def forced_backend(resolver: Resolver, given: Configuration) -> ForcedAnswer | None:
    """Return what the engine says of the forced backend; None where none is forced. Raises `ConfigurationError`."""
    normal = normalise(resolver.matrix, given)
    if normal.facts.backend is None:
        return None
    verdict = resolver.judge(normal)
    unforced = normalise(resolver.matrix, msgspec.structs.replace(given, backend=None))
    grounds = [
        item.ground for item in unforced.assumed if (item.field, item.value) == ("backend", normal.facts.backend)
    ]
    return ForcedAnswer(
        ground=grounds[-1] if grounds else None,
        name=normal.facts.backend,
        accepted=verdict.engine_accepts,
        words=verdict.engine_reasons or tuple(f.message for f in verdict.findings if f.bites == "selection")[:1],
        missing=verdict.missing if verdict.engine_accepts is None else (),
    )


def explain_selection(resolver: Resolver, given: Configuration) -> SelectionAnswer:
    """Return the ordered candidates, as if no backend were forced. Raises `ConfigurationError`."""
    normal = normalise(resolver.matrix, msgspec.structs.replace(given, backend=None))
    engine = resolver.engine(str(normal.facts.engine), normal.release)
    if normal.beyond is not None:
        older = normal.facts.sm is not None and normal.facts.sm not in resolver.matrix.sms
        return SelectionAnswer(
            release=normal.release,
            selected=None,
            candidates=(),
            missing=("sm",) if older else ("engine_version", "flashinfer_version"),
            answered_as=normal.beyond,
        )
    chosen = engine.select(normal.facts)
    prefill = None
    prefill_selected = None
    if normal.facts.use_mla and engine.prefill_backends:
        second = engine.select_prefill(normal.facts)
        prefill = _candidates(second.judgements, second.selected)
        prefill_selected = second.selected
    return SelectionAnswer(
        release=normal.release,
        selected=chosen.selected,
        candidates=_candidates(chosen.judgements, chosen.selected),
        missing=tuple(sorted(chosen.missing)) if chosen.selected is None else (),
        prefill=prefill,
        prefill_selected=prefill_selected,
        answered_as=normal.answered_as,
    )


def _candidates(judgements: list[Judgement], selected: str | None) -> tuple[Candidate, ...]:
    return tuple(
        Candidate(
            name=j.backend,
            rank=rank,
            accepted=j.accepted,
            picked=j.backend == selected,
            words=j.words,
            missing=tuple(sorted(j.missing)) if j.accepted is None else (),
        )
        for rank, j in enumerate(judgements, start=1)
    )


def why(resolver: Resolver, given: Configuration, name: str) -> WhyAnswer:
    """Return what keeps a backend from being picked, and every single change after which it is picked.

    MLA prefill backends are answered too, where the name is one of them only. Raises `ConfigurationError`.
    """
    normal = normalise(resolver.matrix, msgspec.structs.replace(given, backend=None))
    engine = resolver.engine(str(normal.facts.engine), normal.release)
    known = name in engine.backends
    prefill = not known and name in engine.prefill_backends
    chosen = engine.select_prefill(normal.facts) if prefill else engine.select(normal.facts)
    in_order = any(j.backend == name for j in chosen.judgements)
    judgement = None
    if known or prefill:
        judgement = (engine.judge_prefill if prefill else engine.judge)(name, normal.facts)
    before: list[str] = []
    for other in chosen.judgements:
        if other.backend == name:
            break
        if other.accepted:
            before.append(other.backend)
    picked = chosen.selected == name
    return WhyAnswer(
        name=name,
        picked=picked,
        known=known or prefill,
        in_order=in_order,
        accepted=judgement.accepted if judgement else None,
        words=judgement.words if judgement else (),
        outranked_by=tuple(before) if in_order else (),
        changes=() if picked else _changes(resolver, given, normal, name, prefill=prefill),
    )


def _changes(
    resolver: Resolver, given: Configuration, normal: Normalised, name: str, *, prefill: bool
) -> tuple[Change, ...]:
    found: list[Change] = []
    for of, field, value, more in _single_changes(resolver, normal):
        changed = msgspec.structs.replace(given, backend=None, **{field: value}, **more)
        try:
            answer = normalise(resolver.matrix, changed)
        except ConfigurationError:
            continue
        engine = resolver.engine(str(answer.facts.engine), answer.release)
        chosen = engine.select_prefill(answer.facts) if prefill else engine.select(answer.facts)
        if chosen.selected == name and not any(c.field == field and c.of == "engine" for c in found):
            found.append(Change(field=field, value=value, of=of))
    return tuple(found)


def _single_changes(resolver: Resolver, normal: Normalised) -> list[tuple[str, str, Any, dict[str, Any]]]:
    """Return (who, field, value, other fields) for each single change: what is cheapest for the user first."""
    facts = normal.facts
    engine = resolver.engine(str(facts.engine), normal.release)
    tried: list[tuple[str, str, Any, dict[str, Any]]] = []
    options: dict[str, list[Any]] = {
        "kv_cache_dtype": list(engine.kv_cache_dtypes),
        "dtype": ["bfloat16", "float16"],
        "block_size": [None, 16, 32, 64, 128, 256],
        "use_trtllm_attention": [None, True, False],
        "flash_attn_version": [None, 2, 3, 4],
        "use_batch_invariant": [False, True],
        "use_dcp": [False, True],
        "use_kv_connector": [False, True],
    }
    for field, values in options.items():
        tried += [("command", field, value, {}) for value in values if value != getattr(facts, field)]
    releases = sorted(engine.engine.releases, key=parse)
    newer = [r for r in releases if parse(r) > parse(normal.release)]
    older = [r for r in reversed(releases) if parse(r) < parse(normal.release)]
    tried += [("engine", "engine_version", r, {"flashinfer_version": None}) for r in (*newer, *older)]
    library = resolver.matrix.libraries.get("flashinfer")
    if library is not None and facts.flashinfer_version is not None:
        others = [v for v in reversed(library.releases) if v != facts.flashinfer_version]
        tried += [("library", "flashinfer_version", v, {}) for v in others]
    tried += [("library", "cubins_available", not facts.cubins_available, {})]
    tried += [("gpu", "sm", sm, {}) for sm in resolver.matrix.sms if sm != facts.sm]
    for field in ("has_sink", "use_mm_prefix", "use_sparse", "use_per_head_quant_scales", "use_non_causal"):
        tried.append(("model", field, not getattr(facts, field), {}))
    if facts.sliding_window:
        tried.append(("model", "sliding_window", None, {}))
    tried += [("model", "head_size", size, {}) for size in (64, 128, 256, 512) if size != facts.head_size]
    return tried
