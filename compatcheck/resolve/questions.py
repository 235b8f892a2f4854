"""The questions that a verdict depends on, each with the fields that its answer depends on."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from functools import partial
from operator import attrgetter, itemgetter
from typing import TYPE_CHECKING, Any

import msgspec

from compatcheck.resolve.conditions import Constant
from compatcheck.resolve.configuration import FIELDS, Configuration
from compatcheck.resolve.kernel import CALLED
from compatcheck.resolve.narrowing import narrow_cases
from compatcheck.resolve.tell import Left, Part, Plan, Tell

if TYPE_CHECKING:
    from compatcheck.resolve.backend import Check
    from compatcheck.resolve.engine import EngineProgram
    from compatcheck.resolve.judgement import Judgement
    from compatcheck.resolve.normalise import Normalised
    from compatcheck.resolve.parts import Asked, Ruled
    from compatcheck.resolve.resolver import Answered, Resolver
    from compatcheck.resolve.rules import RuleProgram
    from compatcheck.resolve.verdict import Verdict

Told = tuple[int, ...]
_MANY = 65536
_FIXED = ("engine", "engine_version", "backend", "use_mla")
"""Fields in which the configurations of one plan are alike."""
_FREE = frozenset(FIELDS).difference(_FIXED)


class Questions:
    """What the resolver asks of configurations that differ only in sizes; plans are made once for the same fields."""

    def __init__(self, resolver: Resolver) -> None:
        self._resolver = resolver
        self._shared: dict[tuple[Any, ...], _Shared] = {}
        self._parts: dict[tuple[Any, ...], dict[str | None, list[Part]]] = {}
        """Questions whatever the sizes: those of early rules (None), and those that are asked after each backend."""
        self._frames: dict[tuple[Any, ...], int] = {}

    @staticmethod
    def apply(normal: Normalised) -> bool:
        """Return whether these questions are asked of such a configuration at all."""
        return normal.beyond is None and normal.facts.linear is None

    def stages(self, normal: Normalised, names: tuple[str, ...]) -> Stages:
        """Return the questions for configurations like this one, which differ in the sizes called `names`."""
        facts = normal.facts
        engine = self._resolver.engine(str(facts.engine), normal.release)
        key = (engine, facts.engine_version, facts.backend, facts.use_mla)
        shared = self._shared.get((*key, names))
        if shared is None:
            parts = self._parts.setdefault(key, {})
            shared = self._shared[(*key, names)] = _Shared(self._resolver, engine, facts, names, parts)
        frame = self._frames.setdefault((normal.assumed, normal.answered_as), len(self._frames))
        return Stages(self._resolver, engine, shared, frame, facts)


class _Shared:
    """What configurations of one release and backend share."""

    def __init__(
        self,
        resolver: Resolver,
        engine: EngineProgram,
        facts: Configuration,
        names: tuple[str, ...],
        parts: dict[str | None, list[Part]],
    ) -> None:
        self.names = names
        self.parts = parts
        self.selector = Plan(names, _of_selector(engine, facts.backend))
        if None not in parts:
            _, early, _ = resolver.rules(str(facts.engine), engine.release).each
            parts[None] = _of_possible(early, facts)
        self.early = Plan(names, parts[None])
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
            parts = self._shared.selector.parts
            said: list[Any] = [one for at, one in self.selector.said(told) if parts[at].question is not None]
            judgement = self._program.judgement(said)
        asked = self.asked[told] = self._resolver.ask_selector(self._engine, facts, judgement)
        return asked

    def after(self, used: str, normal: Normalised) -> Tell:
        """Return what tells sizes apart by all that is asked once the selector has let `used` pass."""
        plan = self._shared.after.get(used)
        if plan is None:
            parts = self._shared.parts.get(used)
            if parts is None:
                parts = self._shared.parts[used] = _after_selector(self._resolver, self._engine, normal.facts, used)
            plan = self._shared.after[used] = Plan(self._shared.names, parts)
        return Tell(plan, normal.facts)

    def refuse(self, key: tuple[Any, ...], asked: Asked, early: Told, facts: Any, normal: Normalised) -> Verdict:
        """Return the verdict where the selector ends the start, and keep it for all of which the same was told.

        `facts` are those of the configuration, and `normal` those of any that is like it in all but sizes.
        """
        ruled = self._shared.ruled.get(early)
        if ruled is None:
            ruled = self._shared.ruled[early] = self._resolver.rule(
                _of_rules(self._shared.early, self.early.said(early)), facts, None
            )
        if len(self.verdicts) > _MANY:
            self.verdicts.clear()
        verdict = self.verdicts[key] = self._resolver.judge_refused(asked, ruled, normal)
        return verdict

    def judge(self, key: tuple[Any, ...], asked: Asked, after: Tell, told: Told, normal: Normalised) -> Verdict:
        """Return the verdict where the selector lets pass, and keep it for all of which the same was told after it."""
        if len(self.verdicts) > _MANY:
            self.verdicts.clear()
        answered = _of_rules(self._shared.after[str(asked.used)], after.said(told))
        verdict = self.verdicts[key] = self._resolver.judge_asked(self._engine, asked, normal, answered)
        return verdict


def _of_rules(plan: Plan, said: tuple[tuple[int, Any], ...]) -> list[Answered]:
    """Return the rules that hold or cannot tell, each with its place among those that are asked with it, in order."""
    rules = [(question, one) for at, one in said if (question := plan.parts[at].question) is not None]
    return sorted([(*question, holds) for question, (holds, _) in rules], key=itemgetter(0))


def _after_selector(resolver: Resolver, engine: EngineProgram, facts: Configuration, used: str) -> list[Part]:
    everything, _, as_given = resolver.rules(str(facts.engine), engine.release).each
    pages = engine.program(used).pages
    parts = [
        *_of_possible(everything, msgspec.structs.replace(facts, backend=used)),
        Part(engine.routing.fields, engine.route, partial(_routed, engine)),
        *(Part(frozenset({field}), attrgetter(field)) for field in CALLED),
        Part(pages.fields, pages.of),
    ]
    if facts.use_mla:
        parts.append(Part(engine.prefill_fields, engine.select_prefill))
    if used != facts.backend:
        parts = [_with_backend(used, part) for part in parts]
    return parts + _of_possible(as_given, facts)


def _routed(engine: EngineProgram, facts: Any, free: frozenset[str]) -> Left:
    cases = narrow_cases(engine.routing, facts, free)
    return Left(frozenset[str]().union(*(condition.fields for condition, _ in cases)), partial(engine.route))


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
        parts += _parts(enumerate(program.checks))
        parts.append(Part(program.unasked.fields, program.unasked.test))
    return parts


def _parts(asked: Iterable[tuple[int, Check | RuleProgram]]) -> list[Part]:
    """Return what a verdict repeats of checks or rules, as parts; `question` is a place among them, and which it is."""
    return [Part(one.told, _said(one, one.test), partial(_narrowed, one), (at, one)) for at, one in asked]


def _of_possible(rules: list[RuleProgram], facts: Configuration) -> list[Part]:
    """Return the rules, as parts, that may hold for configurations that have these facts in the fixed fields."""
    return _parts([(at, rule) for at, rule in enumerate(rules) if rule.possible(facts, _FREE)])


def _narrowed(asked: Check | RuleProgram, facts: Any, free: frozenset[str]) -> Left | None:
    left = asked.left(facts, free)
    if isinstance(left, Constant) and left.test(facts) is False:
        return None
    return Left(left.fields | asked.named, _said(asked, left.test))


def _said(asked: Check | RuleProgram, test: Callable[[Any], bool | None]) -> Callable[[Any], Hashable]:
    def said(facts: Any) -> Hashable:
        holds = test(facts)
        return False if holds is False else asked.said(facts, holds)

    return said


def _with_backend(used: str, part: Part) -> Part:
    """Return the same question about configurations in which a backend is put that none was forced."""

    def instead(ask: Callable[[Any], Hashable]) -> Callable[[Any], Hashable]:
        return lambda facts: ask(msgspec.structs.replace(facts, backend=used))

    def narrow(facts: Any, free: frozenset[str]) -> Left | None:
        left = part.narrow(msgspec.structs.replace(facts, backend=used), free) if part.narrow else None
        return None if left is None else Left(left.fields, instead(left.ask))

    return part._replace(ask=instead(part.ask), narrow=narrow if part.narrow else None)
