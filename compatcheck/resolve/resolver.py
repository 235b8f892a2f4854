"""The one resolver: a configuration in, a verdict out. Pure; no input or output, no torch.

Everything else (command line, Python API, docs, hooks, probe, smoke selection) asks here and decides nothing.
"""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, Any

import msgspec

from compatcheck.matrix.model import Route
from compatcheck.resolve.clusters import Answer, in_order
from compatcheck.resolve.configuration import FIELDS, Configuration
from compatcheck.resolve.engine import EngineProgram, Selection
from compatcheck.resolve.findings import FindingFactory
from compatcheck.resolve.judgement import Judgement
from compatcheck.resolve.kernel import CALLED, KERNEL_DTYPES, KernelCell, KernelProgram
from compatcheck.resolve.normalise import Normalised, normalise
from compatcheck.resolve.parts import NO_ROUTE, NOTHING_SAID, Asked, Library, Ruled, Taken, assemble
from compatcheck.resolve.rules import RuleGroups, RuleProgram, compile_rules
from compatcheck.resolve.unasked import left_unanswered
from compatcheck.resolve.verdict import Finding, RouteAnswer, Verdict

if TYPE_CHECKING:
    from compatcheck.matrix.load import LoadedMatrix
    from compatcheck.resolve.linear_verdict import LinearJudge

Answered = tuple[int, RuleProgram, bool | None]
"""A rule that holds (True) or cannot tell (None), and its place."""
PHASES = ("kv_write", "prefill", "decode")
_FIELDS = frozenset(FIELDS)
_CACHE_LIMIT = 65536

_called = attrgetter(*CALLED)


class Resolver:
    """Answers configurations over one matrix; what it compiles, and the parts of answers, are kept and used again."""

    def __init__(self, loaded: LoadedMatrix) -> None:
        self.loaded = loaded
        self.matrix = loaded.matrix
        self.make = FindingFactory(loaded)
        self._engines: dict[tuple[str, str], EngineProgram] = {}
        self._rules: dict[tuple[str, str], RuleGroups] = {}
        self._groups: dict[tuple[str, int], RuleGroups] = {}
        """By the engine and the id of a list of rules: the same one serves several releases."""
        self._kernels: dict[str, KernelProgram] = {}
        self._linear: LinearJudge | None = None
        self._asked: dict[Any, Asked] = {}
        self._routes: dict[Any, Taken] = {}
        self._ruled: dict[Any, Ruled] = {}
        self._equal_rulings: dict[Any, Ruled] = {}
        self._equal_libraries: dict[Any, Library] = {}
        self._library: dict[Any, Library] = {}
        self._verdicts: dict[Any, Verdict] = {}

    # ------------------------------------------------------------------------------------- compiled

    def engine(self, name: str, release: str) -> EngineProgram:
        """Return an engine at a release; both must be in the matrix."""
        key = (name, release)
        program = self._engines.get(key)
        if program is None:
            engine = self.matrix.engines[name]
            program = self._engines[key] = EngineProgram(self.matrix, engine, release, self.loaded.compiled)
        return program

    def kernel(self, id_: str) -> KernelProgram:
        """Return a kernel's compiled facts."""
        program = self._kernels.get(id_)
        if program is None:
            program = self._kernels[id_] = KernelProgram(id_, self.matrix.kernels[id_], self.matrix.sms)
        return program

    def rules(self, name: str, release: str) -> RuleGroups:
        """Return the rules compiled for an engine release that may speak of the engine, by when they are asked."""
        key = (name, release)
        groups = self._rules.get(key)
        if groups is None:
            programs = compile_rules(self.matrix, self.engine(name, release).compiler)
            same = (name, id(programs))  # the compiler keeps the list
            groups = self._groups.get(same)
            if groups is None:
                groups = self._groups[same] = RuleGroups([rule for rule in programs if rule.speaks_of(name)])
            self._rules[key] = groups
        return groups

    @property
    def linear(self) -> LinearJudge:
        """What judges configurations of linear layers, made once."""
        if self._linear is None:
            from compatcheck.resolve.linear_verdict import LinearJudge

            self._linear = LinearJudge(self)
        return self._linear

    # ---------------------------------------------------------------------------------------- judge

    def resolve(self, given: Configuration, *, alternatives: bool = True) -> Verdict:
        """Return the verdict for a configuration. Raises `ConfigurationError` where it cannot be judged."""
        verdict = self.judge(normalise(self.matrix, given))
        if alternatives and verdict.verdict != "supported":
            from compatcheck.resolve.alternatives import find_alternatives

            found = find_alternatives(self, given, verdict)
            verdict = msgspec.structs.replace(verdict, alternatives=found)
        return verdict

    def judge(self, normal: Normalised) -> Verdict:
        """Return the verdict for facts that are already normalised, without alternatives.

        Every part of the answer is made once for the facts that it depends on and compared by identity, so the same
        parts give the same verdict object.
        """
        facts = normal.facts
        if normal.beyond is not None:
            return Verdict(verdict="unknown", engine_accepts=None, untested=normal.beyond, assumed=normal.assumed)
        if facts.linear is not None:
            return self.linear.judge(normal)
        engine = self.engine(str(facts.engine), normal.release)
        return self.judge_asked(engine, self.ask_selector(engine, facts), normal)

    def judge_asked(
        self, engine: EngineProgram, asked: Asked, normal: Normalised, answered: list[Answered] | None = None
    ) -> Verdict:
        """Return the verdict where it is known what the selector says, and perhaps what the rules `answered`."""
        if not asked.reached:
            return self.judge_refused(asked, self.early(engine, normal.facts), normal)
        given = facts = normal.facts
        if asked.used is not None and asked.used != facts.backend:
            facts = msgspec.structs.replace(facts, backend=asked.used)
        route = self._route(engine, facts)
        prefill = engine.select_prefill(facts) if _has_mla_prefill(engine, facts) else None
        if answered is None:
            ruled = self._apply_rules(engine, given, facts, route.answer)
        else:
            ruled = self.rule(answered, facts, route.answer)
        library = self._ask_kernels(engine, facts, route.answer, ruled) if route.answer is not None else NOTHING_SAID
        return self._assembled(asked, route, prefill, ruled, library, normal)

    def judge_refused(self, asked: Asked, ruled: Ruled, normal: Normalised) -> Verdict:
        """Return the verdict where the selector ends the start; `ruled` is what `early` gave."""
        return self._assembled(asked, NO_ROUTE, None, ruled, NOTHING_SAID, normal)

    def _assembled(
        self, asked: Asked, route: Taken, prefill: Selection | None, ruled: Ruled, library: Library, normal: Normalised
    ) -> Verdict:
        # `normal.assumed` is kept alive by the verdict that holds it, so its id is not given to another.
        key = (asked, route, prefill, ruled, library, id(normal.assumed), normal.answered_as)
        verdict = self._verdicts.get(key)
        if verdict is None:
            if len(self._verdicts) > _CACHE_LIMIT:
                self._verdicts.clear()
            verdict = self._verdicts[key] = assemble(asked, route, prefill, ruled, library, normal)
        return verdict

    # ----------------------------------------------------------------------------------------- parts

    def ask_selector(self, engine: EngineProgram, facts: Configuration, judgement: Judgement | None = None) -> Asked:
        """Return what the engine's selector says: of the backend that is forced, or of all in its order.

        `judgement` is what it says of the forced backend, where that is known already.
        """
        outside = self._not_in_release(engine, facts)
        selection: Selection | None = None
        if facts.backend is None:
            selection = engine.select(facts)
        elif judgement is None and facts.backend in engine.present:
            judgement = engine.judge(facts.backend, facts)
        left = None if judgement is None else left_unanswered(engine.program(judgement.backend), judgement, facts)
        unasked = left == []
        sm = facts.sm if selection is not None else None
        key = (engine, judgement, left is not None, selection, outside and outside[1], sm)
        asked = self._asked.get(key)
        if asked is None:
            if len(self._asked) > _CACHE_LIMIT:
                self._asked.clear()
            findings = list(outside[0]) if outside else []
            if judgement is not None and unasked:
                findings.append(self.make.not_asked(engine, judgement, facts))
            elif judgement is not None:
                findings += self.make.from_judgement(engine, judgement, facts, left)
            if selection is not None and selection.accepts is False:
                findings.append(self.make.nothing_selected(engine, selection, facts))
                findings += [f for j in selection.judgements for f in self.make.from_judgement(engine, j, facts)]
            asked = self._asked[key] = Asked(facts.backend, judgement, selection, tuple(findings), unasked=unasked)
        return asked

    def _not_in_release(self, engine: EngineProgram, facts: Configuration) -> tuple[tuple[Finding, ...], Any] | None:
        """Return findings on what this release does not have, and the values that they depend on."""
        unknown_kv = facts.kv_cache_dtype not in engine.accepted_kv_cache_dtypes
        unknown_backend = facts.backend is not None and facts.backend not in engine.present
        if not unknown_kv and not unknown_backend:
            return None
        found: list[Finding] = []
        if unknown_kv:
            found.append(self.make.kv_dtype_not_in_release(engine, facts))
        if unknown_backend:
            found.append(self.make.backend_not_in_release(engine, facts))
        return tuple(found), (facts.kv_cache_dtype, facts.backend, facts.engine_version)

    def _route(self, engine: EngineProgram, facts: Configuration) -> Taken:
        id_, missing = engine.route(facts)
        key = (facts.engine, id_, missing)
        taken = self._routes.get(key)
        if taken is None:
            answer = None if id_ is None else _route_answer(id_, engine.engine.routes[id_])
            taken = self._routes[key] = Taken(answer, missing)
        return taken

    def early(self, engine: EngineProgram, facts: Configuration) -> Ruled:
        """Return what the rules say that bite before the selector: a start that it stops never reaches the others."""
        groups = self.rules(str(facts.engine), engine.release)
        return self._ruled_by(tuple([cluster.answer(facts) for cluster in groups.early]), facts, None)

    def _apply_rules(
        self, engine: EngineProgram, given: Configuration, facts: Configuration, route: RouteAnswer | None
    ) -> Ruled:
        """Return what the rules say of a start that the selector lets pass."""
        groups = self.rules(str(facts.engine), engine.release)
        answers = [cluster.answer(facts) for cluster in groups.everything]
        answers += [cluster.answer(given) for cluster in groups.as_given]
        return self._ruled_by(tuple(answers), facts, route)

    def _ruled_by(
        self, answers: tuple[Answer[RuleProgram], ...], facts: Configuration, route: RouteAnswer | None
    ) -> Ruled:
        key = (answers, route and route.id)
        ruled = self._ruled.get(key)
        if ruled is None:
            if len(self._ruled) > _CACHE_LIMIT:
                self._ruled.clear()
            ruled = self._ruled[key] = self.rule(in_order(answers), facts, route)
        return ruled

    def rule(self, answered: list[Answered], facts: Any, route: RouteAnswer | None) -> Ruled:
        """Return what rules amount to that hold (True) or cannot tell (None), in order; equal ones are one object."""
        used = {getattr(route, phase) for phase in PHASES} if route else set()
        findings: list[Finding] = []
        missing: frozenset[str] = frozenset()
        kernels: set[str] = set()
        for _, program, holds in answered:
            rule = program.rule
            if rule.kernels and not used.intersection(rule.kernels):
                continue
            if holds:
                findings.append(self.make.from_rule(program, facts))
                kernels.update(rule.kernels)
            elif rule.effect != "note":
                missing |= program.missing(facts)
        # The ids of findings last as long as what is kept of them.
        key = (tuple(map(id, findings)), missing, frozenset(kernels))
        ruled = self._equal_rulings.get(key)
        if ruled is None:
            ruled = self._equal_rulings.setdefault(key, Ruled(tuple(findings), missing, frozenset(kernels)))
        return ruled

    def _ask_kernels(self, engine: EngineProgram, facts: Configuration, route: RouteAnswer, ruled: Ruled) -> Library:
        page = None if facts.block_size is None else engine.program(str(facts.backend)).pages.of(facts)
        key = (route.id, ruled.kernels, facts.engine, page, _called(facts))
        library = self._library.get(key)
        if library is None:
            if len(self._library) > _CACHE_LIMIT:
                self._library.clear()
            library = self._library[key] = self._call_kernels(cell_of(facts, route, page), facts, route, ruled.kernels)
        return library

    def _call_kernels(
        self, cell: KernelCell, facts: Configuration, route: RouteAnswer, covered: frozenset[str]
    ) -> Library:
        """Return the library's refusals for the route's kernels, and what nobody has stated."""
        findings: list[Finding] = []
        untested: str | None = None
        missing: frozenset[str] = frozenset()
        for phase in PHASES:
            id_ = getattr(route, phase)
            if id_ is None or id_ not in self.matrix.kernels:
                continue
            program = self.kernel(id_)
            if program.kernel.library == "flashinfer" and id_ not in covered:
                present = program.present(facts.flashinfer_version)
                if present is False:
                    findings.append(self.make.kernel_missing(id_, program.kernel, facts))
                    continue
                if present is None and facts.slot_mapping_helpers is not True:
                    missing |= {"flashinfer_version"} if facts.flashinfer_version is None else {"slot_mapping_helpers"}
            refusal = program.refusal(cell)
            if refusal is not None:
                if not any(f.code == refusal.code for f in findings):
                    findings.append(self.make.from_refusal(id_, program.kernel, refusal, facts))
                continue
            supported, axes = program.supports(cell)
            if supported is None and phase != "kv_write" and id_ not in covered:
                missing |= program.missing(cell) & _FIELDS
            if supported is False and phase != "kv_write" and id_ not in covered:
                said = ", ".join(f"{axis}={getattr(cell, axis)}" for axis, ok in axes.items() if ok is False)
                untested = f"the matrix does not state that {id_} runs with {said}"
        # The ids of findings last as long as what is kept of them.
        key = (tuple(map(id, findings)), untested, missing)
        return self._equal_libraries.setdefault(key, Library(tuple(findings), untested, missing))


def _has_mla_prefill(engine: EngineProgram, facts: Configuration) -> bool:
    return bool(facts.use_mla and facts.qk_nope_head_dim is not None and engine.prefill_backends)


def _route_answer(id_: str, route: Route) -> RouteAnswer:
    return RouteAnswer(
        id=id_,
        title=route.title,
        kv_write=route.kv_write,
        prefill=route.prefill,
        decode=route.decode,
        query_dtype=route.query_dtype,
        output_dtype=route.output_dtype,
        scale_layout=route.scale_layout,
        page_layout=route.page_layout,
        head_sizes=tuple(route.head_sizes),
        note=route.note,
    )


def cell_of(facts: Configuration, route: RouteAnswer, page_size: int | None = None) -> KernelCell:
    """Return the kernel call that a configuration makes on a route, with pages of `page_size` tokens."""
    dtype = facts.dtype
    kv = str(facts.kv_cache_dtype)
    kv = str(dtype) if kv == "auto" else KERNEL_DTYPES.get(kv, kv)
    return KernelCell(
        sm=str(facts.sm) if facts.sm is not None else None,
        q_dtype=route.query_dtype or dtype,
        kv_dtype=kv,
        o_dtype=route.output_dtype or dtype,
        head_size=facts.head_size,
        page_size=page_size,
        group=_group(facts),
        flashinfer_version=facts.flashinfer_version,
        torch_version=facts.torch_version,
        cuda_version=facts.cuda_version,
    )


def _group(facts: Configuration) -> int | None:
    if facts.num_qo_heads and facts.num_kv_heads:
        return facts.num_qo_heads // facts.num_kv_heads
    return None
