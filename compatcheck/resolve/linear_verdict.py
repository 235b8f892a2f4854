"""Verdicts for quantised linear layers: the engine's choice, what the library says of it, and what is known of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from compatcheck.matrix.linear_model import Linear
from compatcheck.resolve import linear_findings as made
from compatcheck.resolve.clusters import in_order
from compatcheck.resolve.configuration import FIELDS
from compatcheck.resolve.kernel import KernelCell
from compatcheck.resolve.linear import LinearProgram, LinearSelection
from compatcheck.resolve.linear_env import env_not_in_release, env_refusal
from compatcheck.resolve.normalise import ConfigurationError, Normalised
from compatcheck.resolve.parts import EFFECT_ORDER, verdict_name
from compatcheck.resolve.rules import Clusters, cluster_rules, compile_rules
from compatcheck.resolve.verdict import BITES_ORDER, Finding, LinearAnswer, Verdict

if TYPE_CHECKING:
    from compatcheck.resolve.resolver import Resolver

_FIELDS = frozenset(FIELDS)


class LinearJudge:
    """Judges configurations that ask about a linear layer, over the resolver's matrix."""

    def __init__(self, resolver: Resolver) -> None:
        self._resolver = resolver
        self._programs: dict[tuple[str, str], LinearProgram] = {}
        self._rules: dict[tuple[str, str], tuple[Clusters, Clusters]] = {}

    def program(self, name: str, release: str) -> LinearProgram:
        """Return the selector of an engine release. Raises `ConfigurationError` where the matrix has none."""
        key = (name, release)
        program = self._programs.get(key)
        if program is None:
            engine = self._resolver.engine(name, release)
            if engine.engine.linear is None:
                text = f"the matrix says nothing of {engine.engine.title}'s linear layers"
                raise ConfigurationError([("linear", text)])
            program = self._programs[key] = LinearProgram(engine.engine.linear, release, engine.compiler)
        return program

    def judge(self, normal: Normalised) -> Verdict:
        """Return the verdict for facts that are already normalised."""
        facts = normal.facts
        program = self.program(str(facts.engine), normal.release)
        line = self._resolver.loaded.line(("engines", str(facts.engine), "linear"))
        title = self._resolver.matrix.engines[str(facts.engine)].title
        unknown_option = facts.linear_backend is not None and facts.linear_backend not in program.options
        if unknown_option:
            selection = LinearSelection(None, [], frozenset())
            findings = [made.option_not_in_release(program, title, facts, line)]
        elif (refused := env_refusal(program.linear, program.release, facts.nvfp4_gemm_backend)) is not None:
            selection = LinearSelection(None, [], frozenset())
            findings = [env_not_in_release(refused, title, program.release, line)]
        else:
            selection = program.select(facts)
            findings = made.from_selection(program, title, selection, facts, line)
        selected, missing = selection.selected, selection.missing
        accepts = True if selected is not None else (None if missing else False)

        used = self._used(program.linear, selected)
        ruled, rule_missing = self._apply_rules(normal, used, reached=selected is not None)
        findings += ruled
        missing |= rule_missing
        answer: LinearAnswer | None = None
        untested: str | None = None
        if selected is not None:
            answer = _answer(program, selected, facts)
            covered = {kernel for f in ruled for kernel in self._resolver.matrix.rules[f.code].kernels}
            if selected not in covered or not any(f.effect == "unsupported" for f in ruled):
                asked, untested, library_missing = self._ask_library(answer, facts)
                findings += asked
                missing |= library_missing

        findings.sort(key=lambda f: (EFFECT_ORDER[f.effect], BITES_ORDER.index(f.bites)))
        unsupported = [f for f in findings if f.effect == "unsupported"]
        if any(f.effect != "note" for f in findings):
            untested = None
        return Verdict(
            verdict=verdict_name(accepts, findings, missing, untested),
            engine_accepts=accepts,
            engine_reasons=(selection.error[1],) if selection.error else (),
            selected=selected,
            candidates=selection.candidates,
            rejected=selection.rejected,
            fails_at=unsupported[0].bites if unsupported else None,
            findings=tuple(findings),
            missing=tuple(sorted(missing)),
            untested=untested,
            assumed=normal.assumed,
            answered_as=normal.answered_as,
            linear=answer,
        )

    # ----------------------------------------------------------------------------------------- parts

    @staticmethod
    def _used(linear: Linear, selected: str | None) -> set[str]:
        if selected is None:
            return set()
        library = linear.kernels[selected].kernel
        return {selected, library} if library else {selected}

    def _groups(self, name: str, release: str) -> tuple[Clusters, Clusters]:
        key = (name, release)
        groups = self._rules.get(key)
        if groups is None:
            programs = compile_rules(
                self._resolver.matrix, self._resolver.engine(name, release).compiler, kind="linear"
            )
            early = [program for program in programs if program.rule.bites == "config"]
            groups = self._rules[key] = (cluster_rules(programs), cluster_rules(early))
        return groups

    def _apply_rules(
        self, normal: Normalised, used: set[str], *, reached: bool
    ) -> tuple[list[Finding], frozenset[str]]:
        """Return what the rules say. A start that the selector stops never reaches what bites later."""
        facts = normal.facts
        findings: list[Finding] = []
        missing: frozenset[str] = frozenset()
        everything, early = self._groups(str(facts.engine), normal.release)
        for _, program, holds in in_order(cluster.answer(facts) for cluster in (everything if reached else early)):
            rule = program.rule
            if rule.kernels and not used.intersection(rule.kernels):
                continue
            if holds:
                findings.append(self._resolver.make.from_rule(program.code, rule, facts))
            elif rule.effect != "note":
                missing |= program.missing(facts)
        return findings, missing

    def _ask_library(self, answer: LinearAnswer, facts: Any) -> tuple[list[Finding], str | None, frozenset[str]]:
        """Return the library's refusal of the kernel that the engine took, and what nobody has stated."""
        id_ = answer.library_kernel
        if id_ is None or id_ not in self._resolver.matrix.kernels:
            return [], None, frozenset()
        program = self._resolver.kernel(id_)
        cell = KernelCell(
            sm=facts.sm,
            q_dtype="nvfp4" if answer.compute == "native" else facts.dtype,
            kv_dtype="nvfp4",
            o_dtype=facts.dtype,
            in_features=answer.padded_in_features,
            out_features=answer.padded_out_features,
            flashinfer_version=facts.flashinfer_version,
            torch_version=facts.torch_version,
            cuda_version=facts.cuda_version,
        )
        make = self._resolver.make
        present = program.present(facts.flashinfer_version)
        if present is False:
            return [make.kernel_missing(id_, program.kernel, facts)], None, frozenset()
        refusal = program.refusal(cell)
        if refusal is not None:
            return [make.from_refusal(id_, program.kernel, refusal, facts)], None, frozenset()
        supported, axes = program.supports(cell)
        if supported is False:
            said = ", ".join(f"{axis}={getattr(cell, axis)}" for axis, ok in axes.items() if ok is False)
            return [], f"the matrix does not state that {id_} runs with {said}", frozenset()
        missing = program.missing(cell) & _FIELDS if supported is None else frozenset()
        return [], None, missing if present else missing | {"flashinfer_version"}


def _answer(program: LinearProgram, selected: str, facts: Any) -> LinearAnswer:
    kernel = program.linear.kernels[selected]
    compute = program.compute(selected, facts)
    meaning = program.linear.compute[compute]
    return LinearAnswer(
        kernel=selected,
        title=kernel.title,
        scheme=facts.linear,
        compute=compute,
        speed=meaning.speed,
        accuracy=meaning.accuracy,
        library_kernel=kernel.kernel,
        multiple_of=kernel.multiple_of,
        padded_in_features=_padded(facts.in_features, kernel.multiple_of),
        padded_out_features=_padded(facts.out_features, kernel.multiple_of_n or kernel.multiple_of),
        note=kernel.note,
    )


def _padded(size: int | None, multiple: int | None) -> int | None:
    if size is None or multiple is None:
        return size
    return -(-size // multiple) * multiple
