"""A launch's verdict: one for each kind of attention layer, the worst one leading. The resolver decides them all."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from compatcheck.launch import findings
from compatcheck.launch.layer_kinds import NO_CACHE
from compatcheck.launch.model import LaunchFacts, Placed
from compatcheck.resolve.configuration import Configuration
from compatcheck.resolve.merge import SEVERITY, with_findings
from compatcheck.resolve.normalise import ConfigurationError, dtype_on, normalise
from compatcheck.resolve.verdict import Finding, Verdict

if TYPE_CHECKING:
    from compatcheck.matrix.load import LoadedMatrix

_ALIASES = {"fp8": "fp8_e4m3", "fp8_e4m3": "fp8"}


class LayerVerdict(msgspec.Struct, frozen=True, kw_only=True):
    """The verdict for one kind of layer; None where the kind has no paged cache and needs no attention backend."""

    kind: str
    count: int | None = None
    verdict: Verdict | None = None
    facts: Configuration | None = None


class LaunchVerdict(msgspec.Struct, frozen=True, kw_only=True):
    """The answer for a launch. `lead` is the worst layer's verdict with the launch's own findings joined to it."""

    lead: Verdict
    facts: Configuration
    layers: tuple[LayerVerdict, ...]
    launch: LaunchFacts


def judge_launch(
    loaded: LoadedMatrix, facts: LaunchFacts, *, sm: str | None = None, alternatives: bool = False
) -> LaunchVerdict:
    """Return the verdict for a launch, on the GPU it names or on `sm`.

    Raises `ConfigurationError` only for facts that the user stated apart from the launch.
    """
    base = facts.configuration if sm is None else msgspec.structs.replace(facts.configuration, sm=sm)
    base, refused = _usable(loaded, base, facts)
    if facts.model_dtype:
        plain = normalise(loaded.matrix, base).facts
        base = msgspec.structs.replace(base, dtype=dtype_on(loaded.matrix, plain.sm, str(plain.dtype)))
    layers: list[LayerVerdict] = []
    for layer in facts.layers or ():
        if layer.kind in NO_CACHE:
            layers.append(LayerVerdict(kind=layer.kind, count=layer.count))
            continue
        own = msgspec.structs.replace(base, **layer.facts)
        own, more = _usable(loaded, own, facts)
        refused += [placed for placed in more if placed.finding.code not in {p.finding.code for p in refused}]
        normal = normalise(loaded.matrix, own)
        verdict = loaded.resolver.resolve(own, alternatives=alternatives)
        alias = _alias(loaded, own, verdict)
        if alias is not None:
            verdict = with_findings(verdict, [alias])
        layers.append(LayerVerdict(kind=layer.kind, count=layer.count, verdict=verdict, facts=normal.facts))
    judged = [layer for layer in layers if layer.verdict is not None]
    lead = min(judged, key=_severity) if judged else _no_attention(loaded, base)
    assert lead.verdict is not None
    assert lead.facts is not None
    launch = msgspec.structs.replace(facts, findings=(*facts.findings, *refused))
    own_findings = [placed.finding for placed in launch.findings]
    known = [a for a in facts.assumed if a.value is not None]
    return LaunchVerdict(
        lead=with_findings(lead.verdict, own_findings, known),
        facts=lead.facts,
        layers=tuple(layers),
        launch=launch,
    )


def _severity(layer: LayerVerdict) -> int:
    assert layer.verdict is not None
    return SEVERITY[layer.verdict.verdict]


def _usable(
    loaded: LoadedMatrix, configuration: Configuration, facts: LaunchFacts
) -> tuple[Configuration, list[Placed]]:
    """Return the configuration without values of the launch that cannot be judged, and a finding for each of them."""
    refused: list[Placed] = []
    for _ in range(8):
        try:
            normalise(loaded.matrix, configuration)
        except ConfigurationError as error:
            mine = [(field, text) for field, text in error.problems if field in facts.places]
            if len(mine) < len(error.problems):
                raise
            for field, text in mine:
                refused.append(Placed(_refused(field, text, facts), *facts.places[field]))
                configuration = msgspec.structs.replace(configuration, **{field: None})
            continue
        break
    return configuration, refused


def _refused(field: str, text: str, facts: LaunchFacts) -> Finding:
    parser_stops = field in ("backend", "kv_cache_dtype", "dtype")
    return findings.make(
        f"launch-unusable-{field.replace('_', '-')}",
        "A value of the launch that no release knows",
        f"{field}: {text}" + ("" if text.endswith((".", "?")) else "."),
        effect="unsupported" if parser_stops else "note",
        fix="Write a value that the release knows." if parser_stops else "State it as an option.",
        actual=str(getattr(facts.configuration, field, None)),
    )


def _alias(loaded: LoadedMatrix, configuration: Configuration, verdict: Verdict) -> Finding | None:
    """Return a finding where the other spelling of the same KV-cache dtype would be accepted by the backend."""
    name = str(configuration.kv_cache_dtype).lower()
    other = _ALIASES.get(name)
    if other is None or verdict.engine_accepts is not False or configuration.backend is None:
        return None
    changed = msgspec.structs.replace(configuration, kv_cache_dtype=other)
    try:
        answer = loaded.resolver.resolve(changed, alternatives=False)
    except ConfigurationError:
        return None
    if answer.engine_accepts is not True:
        return None
    return findings.make(
        "launch-cache-dtype-alias",
        "The backend takes another spelling of this KV-cache dtype",
        f"{configuration.backend} refuses --kv-cache-dtype {name} and accepts {other}: to this backend they are not "
        "the same.",
        effect="note",
        bites="selection",
        fix=f"Write --kv-cache-dtype {other}.",
    )


def _no_attention(loaded: LoadedMatrix, configuration: Configuration) -> LayerVerdict:
    facts = normalise(loaded.matrix, configuration).facts
    note = findings.make(
        "launch-no-attention-layers",
        "The model has no attention layers",
        "No layer of this model has a paged key-value cache, so no attention backend is selected.",
        effect="note",
    )
    verdict: Any = Verdict(verdict="supported", engine_accepts=True, findings=(note,))
    return LayerVerdict(kind="none", verdict=verdict, facts=facts)
