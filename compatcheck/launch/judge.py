"""A launch's verdict: one for each kind of layer, attention or linear, the worst one leading.

The resolver decides them all.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import msgspec

from compatcheck.launch import findings
from compatcheck.launch.layer_kinds import NO_CACHE
from compatcheck.launch.linear_judge import LinearVerdict, judge_linear
from compatcheck.launch.model import LaunchFacts, Placed
from compatcheck.launch.one_kind import without_settled
from compatcheck.launch.plugin_backend import plugin_verdict, without_plugin
from compatcheck.launch.unknown_model import judge_unknown
from compatcheck.launch.windows import judge_windows
from compatcheck.matrix.model import Settling
from compatcheck.resolve.configuration import Configuration
from compatcheck.resolve.merge import SEVERITY, with_findings
from compatcheck.resolve.normalise import ConfigurationError, dtype_on, normalise
from compatcheck.resolve.verdict import BITES_ORDER, Alternative, Assumption, Finding, Verdict

if TYPE_CHECKING:
    from compatcheck.matrix.load import LoadedMatrix

UNKNOWN = "attention"
"""The kind of layers that stands for a model of which nothing is known."""
Reread = Callable[[dict[str, Any]], LaunchFacts]
"""Fields -> values (None: as if the launch did not say them) -> what the launch then means."""
_PLUGINS = "A plugin may register backends of its own; nothing in the launch says that one does."
_ALIASES = {"fp8": "fp8_e4m3", "fp8_e4m3": "fp8"}


class LayerVerdict(msgspec.Struct, frozen=True, kw_only=True):
    """The verdict for one kind of layer; None where the kind has no paged cache and needs no attention backend."""

    kind: str
    count: int | None = None
    verdict: Verdict | None = None
    facts: Configuration | None = None
    asked: Configuration | None = None
    """The facts before they were normalised."""


class LaunchVerdict(msgspec.Struct, frozen=True, kw_only=True):
    """The answer for a launch. `lead` is the worst verdict of all, with the launch's own findings joined to it.

    It is that of a kind of attention layers or of linear layers; `attention` and `linear` are the worst of each, by
    themselves. `facts` are those of the lead.
    """

    lead: Verdict
    facts: Configuration
    layers: tuple[LayerVerdict, ...]
    launch: LaunchFacts
    attention: LayerVerdict
    linear: tuple[LinearVerdict, ...] = ()
    """NVFP4 linear layers by scheme and size, the worst first; none where the checkpoint has none."""

    @property
    def leads_linear(self) -> bool:
        """Whether the lead is that of linear layers."""
        return self.facts.linear is not None

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Every finding, each once: the lead's, then those of each kind of attention and of linear layers."""
        others = [self.attention.verdict, *(one.verdict for one in self.layers), *(one.verdict for one in self.linear)]
        every = [*self.lead.findings, *(f for verdict in others if verdict is not None for f in verdict.findings)]
        return tuple({(f.code, f.message): f for f in reversed(every)}.values())[::-1]


def judge_launch(
    loaded: LoadedMatrix, facts: LaunchFacts, *, sm: str | None = None, reread: Reread | None = None
) -> LaunchVerdict:
    """Return the verdict for a launch, on the GPU it names or on `sm`.

    Where `reread` says what a change of the launch means, alternatives are looked for: those that work for the whole
    of it, all kinds of layers and the launch's own refusals.

    Raises `ConfigurationError` only for facts that the user stated apart from the launch.
    """
    base = facts.configuration if sm is None else msgspec.structs.replace(facts.configuration, sm=sm)
    base, plugin = without_plugin(loaded.matrix, base, facts)
    base, refused = _usable(loaded, base, facts)
    if facts.model_dtype:
        plain = normalise(loaded.matrix, base).facts
        base = msgspec.structs.replace(base, dtype=dtype_on(loaded.matrix, plain.sm, str(plain.dtype)))
    layers: list[LayerVerdict] = []
    for layer in facts.layers or ():
        if layer.kind in NO_CACHE:
            layers.append(LayerVerdict(kind=layer.kind, count=layer.count))
            continue
        own, registered = without_plugin(loaded.matrix, msgspec.structs.replace(base, **layer.facts), facts)
        registered = registered if "backend" in layer.facts else plugin
        own, more = _usable(loaded, own, facts)
        refused += [placed for placed in more if placed.finding.code not in {p.finding.code for p in refused}]
        if registered is not None:
            verdict = plugin_verdict(registered)
        elif facts.unknown_kind and layer.kind == UNKNOWN:
            open_verdict = judge_unknown(loaded, own, facts.model)
            own, verdict = open_verdict.configuration, open_verdict.verdict
            verdict = with_findings(verdict, open_verdict.remarks)
        else:
            verdict = loaded.resolver.resolve(own, alternatives=False)
        normal = normalise(loaded.matrix, own)
        if facts.known_model:
            verdict = without_settled(verdict, loaded.matrix.rules, _settles(facts))
        alias = _alias(loaded, own, verdict)
        if alias is not None:
            verdict = with_findings(verdict, [alias])
        layers.append(LayerVerdict(kind=layer.kind, count=layer.count, verdict=verdict, facts=normal.facts, asked=own))
    judged = [layer for layer in layers if layer.verdict is not None]
    lead = min(judged, key=leading_order) if judged else _no_attention(loaded, base)
    assert lead.verdict is not None
    assert lead.facts is not None
    assert lead.asked is not None
    windows = judge_windows(
        [layer.facts for layer in judged if layer.facts is not None],
        [_used(layer) for layer in judged],
        facts.hybrid_manager,
        facts.connector,
    )
    if windows.finding is not None:
        refused.append(Placed(windows.finding, *_place(facts, "backend")))
    launch = msgspec.structs.replace(
        facts, findings=(*facts.findings, *refused), missing=(*facts.missing, *windows.missing)
    )
    linear, open_ = judge_linear(loaded, facts.linear, base)
    worst, of_worst, asked = lead.verdict, lead.facts, lead.asked
    if linear and SEVERITY[linear[0].verdict.verdict] < SEVERITY[worst.verdict]:
        worst, of_worst, asked = linear[0].verdict, linear[0].facts, linear[0].asked
    own_findings = [placed.finding for placed in launch.findings]
    known = [a for a in facts.assumed if a.value is not None and not _settled(a, of_worst)]
    worst = with_findings(worst, own_findings, known, (*launch.missing, *open_))
    if reread is not None and worst.verdict != "supported":
        worst = msgspec.structs.replace(worst, alternatives=_alternatives(loaded, facts, asked, worst, sm, reread))
    return LaunchVerdict(
        lead=worst,
        facts=of_worst,
        layers=tuple(layers),
        launch=launch,
        attention=lead,
        linear=tuple(linear),
    )


def _alternatives(
    loaded: LoadedMatrix, facts: LaunchFacts, asked: Configuration, lead: Verdict, sm: str | None, reread: Reread
) -> tuple[Alternative, ...]:
    """Return changes of the launch with which everything in it is supported that was judged, and nothing else open."""
    from compatcheck.resolve.alternatives import find_alternatives

    def whole(changes: dict[str, Any]) -> bool:
        try:
            answer = judge_launch(loaded, reread(changes), sm=sm)
        except ConfigurationError:
            return False
        parts = [part.verdict for part in answer.layers if part.verdict is not None]
        parts += [part.verdict for part in answer.linear]
        stopped = any(placed.finding.effect != "note" for placed in answer.launch.findings)
        opened = set(answer.lead.missing) - set(lead.missing)
        return not stopped and not opened and all(part.verdict == "supported" for part in parts)

    forced = facts.linear.fields.get("linear_backend") is not None or facts.linear.per_scheme
    others: list[tuple[tuple[str, Any], ...]] = [(("linear_backend", None),)] if forced else []
    return find_alternatives(loaded.resolver, asked, lead, whole, others)


def _settles(facts: LaunchFacts) -> tuple[Settling, ...]:
    """Return what a launch of a known model settles: how layers share pages may be a KV connector's choice."""
    return ("windows", "model_runner", "pages") if facts.hybrid_manager is not None else ("windows", "model_runner")


def _settled(assumed: Assumption, facts: Configuration) -> bool:
    """Return whether the release itself set another cache dtype than `auto` for the model."""
    return assumed.field == "kv_cache_dtype" and assumed.value == "auto" and facts.kv_cache_dtype != "auto"


def _used(layer: LayerVerdict) -> str | None:
    assert layer.verdict is not None
    assert layer.facts is not None
    return layer.facts.backend or layer.verdict.selected


def _place(facts: LaunchFacts, field: str) -> tuple[int, int]:
    return facts.places.get(field, (facts.line, facts.column))


def leading_order(layer: LayerVerdict) -> tuple[int, int]:
    """Return what puts the worst first, and of equals what a starting engine meets first."""
    assert layer.verdict is not None
    stops = layer.verdict.fails_at
    return SEVERITY[layer.verdict.verdict], BITES_ORDER.index(stops) if stops else len(BITES_ORDER)


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
                if not _told(facts, field):
                    refused.append(Placed(_refused(field, text, facts), *facts.places[field]))
                configuration = msgspec.structs.replace(configuration, **{field: None})
            continue
        break
    return configuration, refused


def _told(facts: LaunchFacts, field: str) -> bool:
    """Return whether the parser's own finding already says that a value is none."""
    value = str(getattr(facts.configuration, field))
    return any(
        p.finding.code in ("launch-bad-choice", "launch-bad-value") and p.finding.actual == value
        for p in facts.findings
    )


def _refused(field: str, text: str, facts: LaunchFacts) -> Finding:
    parser_stops = field in ("backend", "kv_cache_dtype", "dtype", "mla_prefill_backend")
    return findings.make(
        f"launch-unusable-{field.replace('_', '-')}",
        "A value of the launch that no release knows",
        f"{field}: {text}" + ("" if text.endswith((".", "?")) else "."),
        effect="unsupported" if parser_stops else "note",
        why=_PLUGINS if field == "backend" else None,
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
    return LayerVerdict(kind="none", verdict=verdict, facts=facts, asked=configuration)
