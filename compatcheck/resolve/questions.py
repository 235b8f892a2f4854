"""The questions that a verdict depends on, each with the fields that its answer depends on."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from operator import attrgetter, itemgetter
from typing import TYPE_CHECKING, Any

import msgspec

from compatcheck.resolve.clusters import Question
from compatcheck.resolve.configuration import Configuration
from compatcheck.resolve.kernel import CALLED
from compatcheck.resolve.tell import Part, Plan, Said, Tell

if TYPE_CHECKING:
    from compatcheck.resolve.backend import Check, Judgement
    from compatcheck.resolve.engine import EngineProgram
    from compatcheck.resolve.normalise import Normalised
    from compatcheck.resolve.parts import Asked, Ruled
    from compatcheck.resolve.resolver import Resolver
    from compatcheck.resolve.verdict import Verdict

Told = tuple[int, ...]
_MANY = 65536


class Questions:
    """What the resolver asks of configurations that differ only in sizes; plans are made once for the same fields."""

    def __init__(self, resolver: Resolver) -> None:
        self._resolver = resolver
        self._shared: dict[tuple[Any, ...], _Shared] = {}
        self._frames: dict[tuple[Any, ...], int] = {}

    @staticmethod
    def apply(normal: Normalised) -> bool:
        """Return whether these questions are asked of such a configuration at all."""
        return normal.beyond is None and normal.facts.linear is None

    def stages(self, normal: Normalised, names: tuple[str, ...]) -> Stages:
        """Return the questions for configurations like this one, which differ in the sizes called `names`."""
        facts = normal.facts
        engine = self._resolver.engine(str(facts.engine), normal.release)
        key = (engine, facts.backend, facts.use_mla, names)
        shared = self._shared.get(key)
        if shared is None:
            shared = self._shared[key] = _Shared(self._resolver, engine, normal, names)
        frame = self._frames.setdefault((normal.assumed, normal.answered_as), len(self._frames))
        return Stages(self._resolver, engine, shared, frame, facts)


class _Shared:
    """What configurations of one release and backend share."""

    def __init__(self, resolver: Resolver, engine: EngineProgram, normal: Normalised, names: tuple[str, ...]) -> None:
        early = resolver.rules(str(normal.facts.engine), engine.release).at_configuration
        self.names = names
        self.selector = Plan(names, _of_selector(engine, normal.facts.backend))
        self.early = Plan(names, [Part(rule.told, _said(rule, rule.test), rule.never, (at, rule)) for at, rule in enumerate(early)])
        self.after: dict[str, Plan] = {}
        self.asked: dict[Told, Asked] = {}
        self.ruled: dict[Told, Ruled] = {}
        self.verdicts: dict[tuple[Any, ...], Verdict] = {}


class Stages:
    """The questions for configurations that are alike in all but their sizes, and the answers that are known."""

    def __init__(
        self, resolver: Resolver, engine: EngineProgram, shared: _Shared, frame: int, facts: Configuration
    ) -> None:
        self._resolver = resolver
        self._engine = engine
        self._shared = shared
        self._program = engine.program(facts.backend) if facts.backend in engine.present else None
        self.frame = frame
        """Stands for what was assumed, and for the release that answers."""
        self.selector = Tell(shared.selector, facts)
        """Tells sizes apart by what the selector says."""
        self.early = Tell(shared.early, facts)
        """Tells sizes apart by the rules that bite before it."""
        self.asked = shared.asked
        self.verdicts = shared.verdicts

    def ask(self, told: Told, facts: Configuration) -> Asked:
        """Return what the selector says, and keep it for all of which the same was told."""
        if len(self.asked) > _MANY:
            self.asked.clear()
        judgement: Judgement | None = None
        if self._program is not None:
            answered = _open(self._shared.selector, self.selector.said(told))
            judgement = self._program.judgement(answered, facts)
        asked = self.asked[told] = self._resolver.ask_selector(self._engine, facts, judgement)
        return asked

    def after(self, used: str, normal: Normalised) -> Tell:
        """Return what tells sizes apart by all that is asked once the selector has let `used` pass."""
        plan = self._shared.after.get(used)
        if plan is None:
            parts = _after_selector(self._resolver, self._engine, normal.facts, used)
            plan = self._shared.after[used] = Plan(self._shared.names, parts)
        return Tell(plan, normal.facts)

    def refuse(self, key: tuple[Any, ...], asked: Asked, early: Told, facts: Any, normal: Normalised) -> Verdict:
        """Return the verdict where the selector ends the start, and keep it for all of which the same was told.

        `facts` are those of the configuration, and `normal` those of any that is like it in all but sizes.
        """
        ruled = self._shared.ruled.get(early)
        if ruled is None:
            answered = _open(self._shared.early, self.early.said(early))
            holding = [(at, rule, holds) for at, rule, (holds, _) in answered]
            ruled = self._shared.ruled[early] = self._resolver.rule(holding, facts, None)
        if len(self.verdicts) > _MANY:
            self.verdicts.clear()
        verdict = self.verdicts[key] = self._resolver.judge_refused(asked, ruled, normal)
        return verdict

    def judge(self, key: tuple[Any, ...], asked: Asked, normal: Normalised) -> Verdict:
        """Return the verdict, and keep it for all of which the same was told."""
        if len(self.verdicts) > _MANY:
            self.verdicts.clear()
        verdict = self.verdicts[key] = self._resolver.judge_asked(self._engine, asked, normal)
        return verdict


def _open(plan: Plan, said: Said) -> list[tuple[int, Any, Any]]:
    """Return what was asked and did not answer False, each with its place and with what it said."""
    parts = plan.parts
    return [(*question, answer) for place, answer in said if (question := parts[place].question) is not None]


def _after_selector(resolver: Resolver, engine: EngineProgram, facts: Configuration, used: str) -> list[Part]:
    groups = resolver.rules(str(facts.engine), engine.release)
    pages = engine.program(used).pages
    parts = [
        *(Part(cluster.fields, cluster.answer) for cluster in groups.everything),
        Part(engine.routing.fields, engine.route),
        *(Part(frozenset({field}), attrgetter(field)) for field in CALLED),
        Part(pages.fields, pages.of),
    ]
    if facts.use_mla:
        parts.append(Part(engine.prefill_fields, engine.select_prefill))
    if used != facts.backend:
        parts = [Part(part.fields, _with_backend(used, part.ask)) for part in parts]
    return parts + [Part(cluster.fields, cluster.answer) for cluster in groups.as_given]


def _of_selector(engine: EngineProgram, backend: str | None) -> list[Part]:
    accepted = engine.accepted_kv_cache_dtypes

    def unaccepted(facts: Any) -> Hashable:
        return None if facts.kv_cache_dtype in accepted else (facts.kv_cache_dtype, facts.engine_version)

    parts = [Part(frozenset({"kv_cache_dtype", "engine_version"}), unaccepted)]
    if backend is None:
        parts.append(Part(frozenset({"sm"}), attrgetter("sm")))
        parts.append(Part(engine.order_choice.fields, engine.open_orders))
    elif backend not in engine.present:
        return [*parts, Part(frozenset({"engine_version"}), attrgetter("engine_version"))]
    for name in engine.backends if backend is None else [backend]:
        program = engine.program(name)
        parts += [Part(check.told, _said(check, check.test), check.never, (at, check)) for at, check in enumerate(program.checks)]
        parts.append(Part(program.unasked.fields, program.unasked.test))
    return parts


def _said(question: Question, ask: Callable[[Any], bool | None]) -> Callable[[Any], Hashable]:
    """Return what gives all that a verdict can repeat of an answer: the values that it names, or that are missing."""

    def said(facts: Any) -> Hashable:
        holds = ask(facts)
        return False if holds is False else (holds, question.text(facts) if holds else question.key(facts))

    return said


def _with_backend(used: str, ask: Callable[[Any], Hashable]) -> Callable[[Any], Hashable]:
    return lambda facts: ask(msgspec.structs.replace(facts, backend=used))
