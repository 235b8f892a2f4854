"""Verdicts for quantised linear layers: the engine's choice, what the library says of it, and what is known of it."""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, Any

from compatcheck.matrix.linear_model import Compute, Linear
from compatcheck.resolve import linear_findings as made
from compatcheck.resolve.clusters import in_order
from compatcheck.resolve.linear import LinearProgram, LinearSelection
from compatcheck.resolve.linear_env import env_not_in_release, env_refusal
from compatcheck.resolve.linear_library import LinearLibrary
from compatcheck.resolve.normalise import ConfigurationError, Normalised
from compatcheck.resolve.parts import EFFECT_ORDER, NOTHING_SAID, Library, Ruled, verdict_name
from compatcheck.resolve.rules import Clusters, RuleProgram, cluster_rules, compile_rules
from compatcheck.resolve.verdict import BITES_ORDER, Finding, LinearAnswer, Verdict

if TYPE_CHECKING:
    from compatcheck.resolve.resolver import Resolver

_NOTHING: frozenset[str] = frozenset()
_CACHE_LIMIT = 65536
_NO_OPTION = LinearSelection(None, [], _NOTHING)
"""Nothing is picked: the release does not have this value of --linear-backend."""
_NO_VALUE = LinearSelection(None, [], _NOTHING)
"""Nothing is picked: the release does not have this value of VLLM_NVFP4_GEMM_BACKEND."""

_layer = attrgetter("linear", "in_features", "out_features")


class LinearJudge:
    """Judges configurations that ask about a linear layer, over the resolver's matrix."""

    def __init__(self, resolver: Resolver) -> None:
        self._resolver = resolver
        self._programs: dict[tuple[str, str], LinearProgram] = {}
        self._rules: dict[tuple[str, str], tuple[Clusters, Clusters]] = {}
        self._answers: dict[tuple[Any, ...], LinearAnswer] = {}
        self._ruled: dict[tuple[Any, ...], Ruled] = {}
        self._equal_rulings: dict[tuple[Any, ...], Ruled] = {}
        self._library = LinearLibrary(resolver)
        self._verdicts: dict[tuple[Any, ...], tuple[LinearSelection, Verdict]] = {}

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
        """Return the verdict for facts that are already normalised; the same parts give the same object."""
        facts = normal.facts
        program = self.program(str(facts.engine), normal.release)
        selection, answer = self._select(program, facts)
        ruled = self._apply_rules(normal, program.linear, selection.selected)
        library = NOTHING_SAID
        if answer is not None and (answer.kernel not in ruled.kernels or not _refused(ruled)):
            library = self._library.ask(answer, facts)
        # The ids last as long as what is kept of them; `normal.assumed` is kept by the verdict.
        shown = program.shown(facts) if made.speaks(selection) else None
        key = (program, id(selection), answer, ruled, library, shown, id(normal.assumed), normal.answered_as)
        known = self._verdicts.get(key)
        if known is None:
            if len(self._verdicts) > _CACHE_LIMIT:
                self._verdicts.clear()
            verdict = self._assemble(program, selection, answer, ruled, library, normal)
            known = self._verdicts[key] = (selection, verdict)
        return known[1]

    def _assemble(
        self,
        program: LinearProgram,
        selection: LinearSelection,
        answer: LinearAnswer | None,
        ruled: Ruled,
        library: Library,
        normal: Normalised,
    ) -> Verdict:
        facts, missing = normal.facts, selection.missing | ruled.missing | library.missing
        line = self._resolver.loaded.line(("engines", str(facts.engine), "linear"))
        title = self._resolver.matrix.engines[str(facts.engine)].title
        if selection is _NO_OPTION:
            said = [made.option_not_in_release(program, title, facts, line)]
        elif selection is _NO_VALUE:
            refused = env_refusal(program.linear, program.release, facts.nvfp4_gemm_backend)
            assert refused is not None
            said = [env_not_in_release(refused, title, program.release, line)]
        else:
            said = made.from_selection(program, title, selection, facts, line)
        findings = sorted(
            [*said, *ruled.findings, *library.findings],
            key=lambda f: (EFFECT_ORDER[f.effect], BITES_ORDER.index(f.bites)),
        )
        accepts = True if selection.selected is not None else (None if selection.missing else False)
        unsupported = [f for f in findings if f.effect == "unsupported"]
        untested = None if any(f.effect != "note" for f in findings) else library.untested
        return Verdict(
            verdict=verdict_name(accepts, findings, missing, untested),
            engine_accepts=accepts,
            engine_reasons=(selection.error[1],) if selection.error else (),
            selected=selection.selected,
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

    def _select(self, program: LinearProgram, facts: Any) -> tuple[LinearSelection, LinearAnswer | None]:
        """Return what the engine picks, and how that computes the layer."""
        if facts.linear_backend is not None and facts.linear_backend not in program.options:
            return _NO_OPTION, None
        if env_refusal(program.linear, program.release, facts.nvfp4_gemm_backend) is not None:
            return _NO_VALUE, None
        selection = program.select(facts)
        if selection.selected is None:
            return selection, None
        compute = program.compute(selection.selected, facts)
        key = (program, selection.selected, compute, *_layer(facts))
        answer = self._answers.get(key)
        if answer is None:
            if len(self._answers) > _CACHE_LIMIT:
                self._answers.clear()
            answer = self._answers[key] = _answer(program, selection.selected, compute, facts)
        return selection, answer

    # ----------------------------------------------------------------------------------------- parts

    @staticmethod
    def _used(linear: Linear, selected: str | None) -> set[str]:
        if selected is None:
            return set()
        library = linear.kernels[selected].kernel
        return {selected, library} if library else {selected}

    def rules(self, name: str, release: str) -> list[RuleProgram]:
        """Return the rules about linear layers, compiled for an engine release."""
        return compile_rules(self._resolver.matrix, self._resolver.engine(name, release).compiler, kind="linear")

    def _groups(self, name: str, release: str) -> tuple[Clusters, Clusters]:
        key = (name, release)
        groups = self._rules.get(key)
        if groups is None:
            programs = self.rules(name, release)
            early = [program for program in programs if program.rule.bites == "config"]
            groups = self._rules[key] = (cluster_rules(programs), cluster_rules(early))
        return groups

    def _apply_rules(self, normal: Normalised, linear: Linear, selected: str | None) -> Ruled:
        """Return what the rules say. A start that the selector stops never reaches what bites later."""
        facts = normal.facts
        everything, early = self._groups(str(facts.engine), normal.release)
        answers = tuple([cluster.answer(facts) for cluster in (early if selected is None else everything)])
        known = self._ruled.get((answers, selected))
        if known is not None:
            return known
        used = self._used(linear, selected)
        findings: list[Finding] = []
        missing: frozenset[str] = frozenset()
        for _, program, holds in in_order(answers):
            rule = program.rule
            if rule.kernels and not used.intersection(rule.kernels):
                continue
            if holds:
                findings.append(self._resolver.make.from_rule(program, facts))
            elif rule.effect != "note":
                missing |= program.missing(facts)
        kernels = frozenset(kernel for f in findings for kernel in self._resolver.matrix.rules[f.code].kernels)
        # The ids of findings last as long as what is kept of them.
        key = (tuple(map(id, findings)), missing)
        if len(self._ruled) > _CACHE_LIMIT:
            self._ruled.clear()
        ruled = self._equal_rulings.setdefault(key, Ruled(tuple(findings), missing, kernels))
        self._ruled[answers, selected] = ruled
        return ruled


def _refused(ruled: Ruled) -> bool:
    return any(finding.effect == "unsupported" for finding in ruled.findings)


def _answer(program: LinearProgram, selected: str, compute: Compute, facts: Any) -> LinearAnswer:
    kernel = program.linear.kernels[selected]
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
