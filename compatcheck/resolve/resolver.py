"""The one resolver: a configuration in, a verdict out. Pure; no input or output, no torch.

Everything else (command line, Python API, docs, hooks, probe, smoke selection) asks here and decides nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from compatcheck.resolve.configuration import FIELDS, Configuration
from compatcheck.resolve.engine import EngineProgram, Judgement, Selection
from compatcheck.resolve.findings import FindingFactory
from compatcheck.resolve.kernel import KERNEL_DTYPES, KernelCell, KernelProgram
from compatcheck.resolve.normalise import Normalised, normalise
from compatcheck.resolve.rules import RuleGroup, compile_rules, group_rules
from compatcheck.resolve.verdict import (
    BITES_ORDER,
    Finding,
    MlaPrefill,
    RouteAnswer,
    Verdict,
    VerdictName,
)

if TYPE_CHECKING:
    from compatcheck.matrix.load import LoadedMatrix
    from compatcheck.resolve.linear_verdict import LinearJudge

PHASES = ("kv_write", "prefill", "decode")
_FIELDS = frozenset(FIELDS)


class Resolver:
    """Answers configurations over one matrix; what it compiles is kept and used again."""

    def __init__(self, loaded: LoadedMatrix) -> None:
        self.loaded = loaded
        self.matrix = loaded.matrix
        self.make = FindingFactory(loaded)
        self._engines: dict[tuple[str, str], EngineProgram] = {}
        self._rules: dict[tuple[str, str], tuple[list[RuleGroup], list[RuleGroup]]] = {}
        self._kernels: dict[str, KernelProgram] = {}
        self._routes: dict[tuple[str, str], RouteAnswer] = {}
        self._linear: LinearJudge | None = None

    # ------------------------------------------------------------------------------------- compiled

    def engine(self, name: str, release: str) -> EngineProgram:
        """Return an engine at a release; both must be in the matrix."""
        key = (name, release)
        program = self._engines.get(key)
        if program is None:
            program = self._engines[key] = EngineProgram(self.matrix, self.matrix.engines[name], release)
        return program

    def kernel(self, id_: str) -> KernelProgram:
        """Return a kernel's compiled facts."""
        program = self._kernels.get(id_)
        if program is None:
            program = self._kernels[id_] = KernelProgram(id_, self.matrix.kernels[id_], self.matrix.sms)
        return program

    def rules(self, name: str, release: str) -> tuple[list[RuleGroup], list[RuleGroup]]:
        """Return the rules compiled for an engine release: all of them, and those that bite at configuration."""
        key = (name, release)
        groups = self._rules.get(key)
        if groups is None:
            programs = compile_rules(self.matrix, self.engine(name, release).compiler)
            early = [program for program in programs if program.rule.bites == "config"]
            groups = self._rules[key] = (group_rules(programs), [RuleGroup(early)] if early else [])
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
        """Return the verdict for facts that are already normalised, without alternatives."""
        facts = normal.facts
        if facts.linear is not None:
            return self.linear.judge(normal)
        engine = self.engine(str(facts.engine), normal.release)
        findings: list[Finding] = []
        missing: frozenset[str] = frozenset()
        accepts: bool | None
        passes: bool | None
        """Whether the engine goes on with this backend: as its selector says, unless the model does not ask it."""
        reasons: tuple[str, ...] = ()
        selected: str | None = None
        used: str | None = None
        selection: Selection | None = None

        early = self._not_in_release(engine, facts)
        findings += early
        if facts.backend is not None:
            if facts.backend in engine.backends:
                judgement = engine.judge(facts.backend, facts)
                accepts, reasons, missing = judgement.accepted, judgement.words, judgement.missing
                used = facts.backend
                passes = accepts
                if accepts is False and engine.program(facts.backend).unasked.test(facts):
                    passes, missing = True, frozenset()
                    findings.append(self.make.not_asked(engine, judgement, facts))
                else:
                    findings += self.make.from_judgement(engine, judgement, facts)
                selected = facts.backend if passes else None
            else:
                accepts, passes, used = False, False, facts.backend
        else:
            selection = engine.select(facts)
            selected = used = selection.selected
            missing = selection.missing if selected is None else frozenset()
            accepts = passes = True if selected else (None if missing else False)
            if accepts is False:
                findings.append(self.make.nothing_selected(engine, selection, facts))
                findings += [f for j in selection.judgements for f in self.make.from_judgement(engine, j, facts)]

        at_backend = facts if used == facts.backend or used is None else msgspec.structs.replace(facts, backend=used)
        route: RouteAnswer | None = None
        prefill: MlaPrefill | None = None
        untested: str | None = None
        if passes is not False and used is not None:
            route, route_missing = self._route(engine, at_backend)
            missing |= route_missing
            if facts.use_mla:
                prefill = self._mla_prefill(engine, at_backend)
        ruled, rule_missing = self._apply_rules(
            engine, at_backend, route, reached=passes is not False and used is not None
        )
        findings += ruled
        missing |= rule_missing
        if route is not None:
            covered = {k for f in ruled for k in self._rule_kernels(f.code)}
            kernel_findings, untested, kernel_missing = self._ask_kernels(engine, at_backend, route, covered)
            findings += kernel_findings
            missing |= kernel_missing

        if len(findings) > 1:
            findings.sort(key=_weight)
        first = findings[0] if findings else None
        if first is not None and first.effect != "note":
            untested = None
        return Verdict(
            verdict=verdict_name(passes, findings, missing, untested),
            engine_accepts=accepts,
            engine_reasons=reasons,
            selected=selected,
            candidates=selection.candidates if selection else None,
            rejected=selection.rejected if selection else None,
            mla_prefill=prefill,
            route=route,
            fails_at=first.bites if first is not None and first.effect == "unsupported" else None,
            findings=tuple(findings),
            missing=tuple(sorted(missing)) if missing else (),
            untested=untested,
            assumed=normal.assumed,
            answered_as=normal.answered_as,
        )

    # ----------------------------------------------------------------------------------------- parts

    def _not_in_release(self, engine: EngineProgram, facts: Configuration) -> list[Finding]:
        found: list[Finding] = []
        if facts.kv_cache_dtype not in engine.kv_cache_dtypes:
            found.append(self.make.kv_dtype_not_in_release(engine, facts))
        if facts.backend is not None and facts.backend not in engine.backends:
            found.append(self.make.backend_not_in_release(engine, facts))
        return found

    def _route(self, engine: EngineProgram, facts: Configuration) -> tuple[RouteAnswer | None, frozenset[str]]:
        id_, missing = engine.route(facts)
        if id_ is None:
            return None, missing
        key = (str(facts.engine), id_)
        answer = self._routes.get(key)
        if answer is None:
            route = engine.engine.routes[id_]
            answer = self._routes[key] = RouteAnswer(
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
        return answer, missing

    def _mla_prefill(self, engine: EngineProgram, facts: Configuration) -> MlaPrefill | None:
        if facts.qk_nope_head_dim is None or not engine.prefill_backends:
            return None
        selection = engine.select_prefill(facts)
        return MlaPrefill(selected=selection.selected, candidates=selection.candidates, rejected=selection.rejected)

    def _rule_kernels(self, code: str) -> list[str]:
        rule = self.matrix.rules.get(code)
        return rule.kernels if rule else []

    def _apply_rules(
        self, engine: EngineProgram, facts: Configuration, route: RouteAnswer | None, *, reached: bool
    ) -> tuple[list[Finding], frozenset[str]]:
        """Return what the rules say. A start that the selector stops never reaches what bites later."""
        used = {getattr(route, phase) for phase in PHASES} if route else set()
        findings: list[Finding] = []
        missing: frozenset[str] = frozenset()
        everything, early = self.rules(str(facts.engine), engine.release)
        for group in everything if reached else early:
            for program, holds in group.answers(facts):
                rule = program.rule
                if rule.kernels and not used.intersection(rule.kernels):
                    continue
                if holds:
                    findings.append(self.make.from_rule(program.code, rule, facts))
                elif rule.effect != "note":
                    missing |= program.missing(facts)
        return findings, missing

    def _ask_kernels(
        self, engine: EngineProgram, facts: Configuration, route: RouteAnswer, covered: set[str]
    ) -> tuple[list[Finding], str | None, frozenset[str]]:
        """Return the library's refusals for the route's kernels, and what nobody has stated."""
        findings: list[Finding] = []
        untested: str | None = None
        missing: frozenset[str] = frozenset()
        page = engine.program(str(facts.backend)).page_size(facts)
        cell = cell_of(facts, route, page)
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
        return findings, untested, missing


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


EFFECT_ORDER = {"unsupported": 0, "degraded": 1, "note": 2}

_WEIGHTS: dict[tuple[str, str], int] = {
    (effect, bites): rank * len(BITES_ORDER) + step
    for effect, rank in EFFECT_ORDER.items()
    for step, bites in enumerate(BITES_ORDER)
}


def _weight(finding: Finding) -> int:
    """Order findings: the gravest effect first, and of those what bites first."""
    return _WEIGHTS[finding.effect, finding.bites]


def verdict_name(
    accepts: bool | None, findings: list[Finding], missing: frozenset[str], untested: str | None
) -> VerdictName:
    """Return the verdict that follows: a refusal first, then what cannot be told, then what runs badly."""
    effects = {f.effect for f in findings}
    if accepts is False or "unsupported" in effects:
        return "unsupported"
    if accepts is None or missing or untested:
        return "unknown"
    return "degraded" if "degraded" in effects else "supported"


def judgement_of(engine: EngineProgram, name: str, facts: Any) -> Judgement:
    """Return what the selector says of one backend (for tables)."""
    return engine.judge(name, facts)
