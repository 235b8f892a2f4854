"""NVFP4 linear layers asked of the resolver: once for each class of configurations that nothing tells apart."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from compatcheck.docs.linear_asks import Ask, asks
from compatcheck.docs.linear_classes import Classes, leaders, number
from compatcheck.docs.linear_sheets import LinearCell, Sheet, Tried
from compatcheck.docs.reasons import Reasons, without_values
from compatcheck.resolve.configuration import LINEAR_SCHEMES, Configuration
from compatcheck.resolve.normalise import dtype_on, normalise

if TYPE_CHECKING:
    from compatcheck.docs.space import Space
    from compatcheck.matrix.linear_model import Linear
    from compatcheck.resolve.linear import LinearProgram
    from compatcheck.resolve.normalise import Normalised
    from compatcheck.resolve.verdict import Verdict


class _NoChecks:
    """What `Reasons` asks of a backend; a linear layer has none."""

    checks: tuple[Any, ...] = ()


class LinearAsking:
    """Asks about one engine's linear layers; cells and reasons are numbered as they are met."""

    def __init__(self, space: Space, linear: Linear) -> None:
        self.linear = linear
        self._space = space
        self._resolver = space.resolver
        self._engine_name = space.engine_name
        engine = space.engine
        self.releases = space.releases
        self.newest = space.newest
        self.sms = space.sms
        self.flashinfer = space.flashinfer
        self.schemes = list(LINEAR_SCHEMES)
        self.cells: list[LinearCell] = []
        self.reasons = Reasons(space.matrix.rules, space.loaded.placed)
        compiler = self._resolver.engine(self._engine_name, self.newest).compiler
        given = [self._given(release, scheme) for release in self.releases for scheme in self.schemes]
        classes = Classes(space.matrix, engine, linear, compiler, [normal.facts for normal in given])
        self._classes = classes
        self._alike_of: dict[str | None, list[int]] = {}
        self._quiet = classes.silent_about_flashinfer
        self.sm_classes = number(classes.signature("sm", sm) for sm in self.sms)
        self.fi_classes = number(classes.signature("flashinfer_version", v) for v in self.flashinfer)
        self._pinned = {release: pins.flashinfer for release, pins in engine.releases.items()}
        self.release_classes = number(
            (
                classes.of_release(release),
                self.program(release).stated,
                tuple([id(rule) for rule in self._resolver.linear.rules(self._engine_name, release)]),
                classes.signature("torch_version", engine.releases[release].torch),
                classes.signature("cuda_version", engine.releases[release].cuda),
            )
            for release in self.releases
        )
        self._bases: dict[tuple[int, str], Normalised] = {}
        self._asks: dict[int, list[Ask]] = {}
        self._numbers: dict[LinearCell, int] = {}
        self._numbered: dict[int, tuple[Verdict, int]] = {}
        """By the id of a verdict, which is kept with the number of its cell."""
        self._sized: dict[tuple[int, int, str, str, int], Verdict] = {}
        for release in self.releases:
            for scheme in self.schemes:
                self._base(release, scheme)

    def asks(self, release: str) -> list[Ask]:
        """Return the ways to ask of a release."""
        number_ = self._class(release)
        found = self._asks.get(number_)
        if found is None:
            found = self._asks[number_] = asks(self.program(release))
        return found

    def program(self, release: str) -> LinearProgram:
        """Return the selector of a release."""
        program: LinearProgram = self._resolver.linear.program(self._engine_name, release)
        return program

    def sized(self, release: str, scheme: str, sm: str, in_features: int) -> Verdict:
        """Return the verdict for a layer with this K per rank; FlashInfer is the one that the release pins."""
        pinned = self._pinned[release]
        key = (self._class(release), self.fi_classes[self.flashinfer.index(pinned)], scheme, sm, in_features)
        verdict = self._sized.get(key)
        if verdict is None:
            base = self._base(release, scheme)
            dtype = dtype_on(self._resolver.matrix, sm, str(base.facts.dtype))
            facts = msgspec.structs.replace(
                base.facts, sm=sm, dtype=dtype, flashinfer_version=pinned, in_features=in_features
            )
            verdict = self._sized[key] = self._judge(base, facts)
        return verdict

    def _asked(self, release: str, scheme: str, ask: Ask) -> Sheet:
        base = self._base(release, scheme)
        return Sheet(tuple([self._strip(base, ask, self.sms[at]) for at in leaders(self.sm_classes)]))

    def _strip(self, base: Normalised, ask: Ask, sm: str) -> tuple[int, ...]:
        """Return the cells of an SM: one where the FlashInfer version cannot matter, else one per class of versions."""
        dtype = dtype_on(self._resolver.matrix, sm, str(base.facts.dtype))
        unsaid = msgspec.structs.replace(base.facts, sm=sm, dtype=dtype, flashinfer_version=None, **ask.fields)
        verdict = self._judge(base, unsaid)
        program = self.program(str(unsaid.engine_version))
        judged = program.select(unsaid).judgements
        settled = not any("flashinfer_version" in one.missing for one in judged)  # also of kernels that come later
        known = verdict.linear is None or (
            verdict.linear.library_kernel is None and program.sure_of_compute(verdict.linear.kernel, unsaid)
        )
        if self._quiet and known and settled and "flashinfer_version" not in verdict.missing:
            return (self._number(verdict, unsaid),)
        cells: dict[int, int] = {}
        alike = self._alike(verdict.selected if settled else None)
        for at, number_ in zip(leaders(self.fi_classes), alike, strict=True):
            if number_ not in cells:
                facts = msgspec.structs.replace(unsaid, flashinfer_version=self.flashinfer[at])
                cells[number_] = self._number(self._judge(base, facts), facts)
        strip = tuple([cells[number_] for number_ in alike])
        return strip if len(set(strip)) > 1 else strip[:1]

    def _alike(self, selected: str | None) -> list[int]:
        """Return for each class of FlashInfer versions the number of those that are one where a kernel is taken.

        `selected` is what is taken whatever the version, None where that is not certain.
        """
        known = self._alike_of.get(selected)
        if known is None:
            versions = [self.flashinfer[at] for at in leaders(self.fi_classes)]
            of = self._classes.of_library
            known = number(versions if selected is None else [of(selected, version) for version in versions])
            self._alike_of[selected] = known
        return known

    def _judge(self, base: Normalised, facts: Configuration) -> Verdict:
        verdict: Verdict = self._resolver.linear.judge(msgspec.structs.replace(base, facts=facts))
        return verdict

    def _base(self, release: str, scheme: str) -> Normalised:
        key = (self._class(release), scheme)
        base = self._bases.get(key)
        if base is None:
            base = self._bases[key] = self._given(release, scheme)
        return base

    def _given(self, release: str, scheme: str) -> Normalised:
        given = Configuration(engine=self._engine_name, engine_version=release, linear=scheme)
        return normalise(self._resolver.matrix, given)

    def _number(self, verdict: Verdict, facts: Configuration) -> int:
        known = self._numbered.get(id(verdict))
        if known is None:
            known = self._numbered[id(verdict)] = (verdict, self._intern(self._cell(verdict, facts)))
        return known[1]

    def _cell(self, verdict: Verdict, facts: Configuration) -> LinearCell:
        program: Any = _NoChecks
        return LinearCell(
            verdict=verdict.verdict,
            accepts=verdict.engine_accepts,
            selected=verdict.selected,
            fails_at=verdict.fails_at,
            reasons=tuple([self.reasons.number(finding, program, facts) for finding in verdict.findings]),
            missing=verdict.missing,
            untested=without_values(verdict.untested),
            tried=self._tried(facts),
            compute=verdict.linear.compute if verdict.linear is not None else None,
        )

    def _intern(self, cell: LinearCell) -> int:
        known = self._numbers.setdefault(cell, len(self.cells))
        if known == len(self.cells):
            self.cells.append(cell)
        return known

    def _tried(self, facts: Configuration) -> tuple[Tried, ...]:
        """Return the kernels that the engine's selector looks at, in its order, those that it passes over with why."""
        judged = self.program(str(facts.engine_version)).select(facts).judgements
        return tuple([Tried(j.kernel, j.words, j.rule.code if j.rule is not None else None) for j in judged])

    def _class(self, release: str) -> int:
        return self.release_classes[self.releases.index(release)]
