"""What is said of NVFP4 linear layers: per release, way to ask, scheme, SM and FlashInfer version, by the resolver."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from compatcheck.docs.dependence import Dependence
from compatcheck.docs.kept import keep, recall
from compatcheck.docs.linear_asks import BATCH_INVARIANT, ENGINE, Ask, asks
from compatcheck.docs.linear_classes import Classes, leaders, number
from compatcheck.docs.reasons import Reason, Reasons, without_values
from compatcheck.resolve.configuration import LINEAR_SCHEMES, Configuration
from compatcheck.resolve.normalise import dtype_on, normalise

if TYPE_CHECKING:
    from compatcheck.docs.space import Space
    from compatcheck.docs.workers import Workers
    from compatcheck.matrix.linear_model import Linear
    from compatcheck.resolve.linear import LinearProgram
    from compatcheck.resolve.normalise import Normalised
    from compatcheck.resolve.verdict import Verdict


class Tried(NamedTuple):
    """A kernel that the engine looked at: its words and the gate's code where it was passed over."""

    kernel: str
    words: str | None = None
    code: str | None = None


class LinearCell(NamedTuple):
    """What the resolver says. `reasons` are numbers in `LinearGrid.reasons`."""

    verdict: str
    accepts: bool | None
    selected: str | None
    fails_at: str | None
    reasons: tuple[int, ...]
    missing: tuple[str, ...]
    untested: str | None
    tried: tuple[Tried, ...]
    compute: str | None = None


class Sheet(msgspec.Struct, frozen=True, array_like=True):
    """One way to ask, one scheme, one release: per class of SMs a cell, or one per class of FlashInfer versions."""

    strips: tuple[tuple[int, ...], ...]

    def at(self, sm: int, fi: int) -> int:
        """Return the number of the cell of an SM class and a FlashInfer class."""
        strip = self.strips[sm]
        return strip[fi if len(strip) > 1 else 0]


class LinearAnswers(msgspec.Struct, array_like=True):
    """Answers that are kept: the digest of what they were made from, and sheets by `_name`. Reasons are not placed."""

    digest: str
    reasons: list[Reason]
    cells: list[LinearCell]
    sheets: dict[str, Sheet]


def _ask_everything(space: Space, _: str) -> bytes:
    """Return every sheet of a space's engine."""
    linear = space.engine.linear
    assert linear is not None
    grid = LinearGrid(space, linear)
    grid.number_everything()
    return msgspec.msgpack.encode(grid.answers())


def _name(key: tuple[int, str, str]) -> str:
    """Return a sheet's key, of release class, scheme and way to ask, as text."""
    return "/".join(map(str, key))


class _NoChecks:
    """What `Reasons` asks of a backend; a linear layer has none."""

    checks: tuple[Any, ...] = ()


class LinearGrid:
    """The answers for one engine's linear layers; sheets are made when first asked for."""

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
        classes = Classes(space.matrix, linear, compiler)
        self._classes = classes
        self._alike_of: dict[str | None, list[int]] = {}
        self._quiet = classes.silent_about_flashinfer
        self.sm_classes = number(classes.signature("sm", sm) for sm in self.sms)
        self.fi_classes = number(classes.signature("flashinfer_version", v) for v in self.flashinfer)
        self._pinned = {release: pins.flashinfer for release, pins in engine.releases.items()}
        self.release_classes = number(
            (
                classes.of_release(release),
                classes.signature("torch_version", engine.releases[release].torch),
                classes.signature("cuda_version", engine.releases[release].cuda),
            )
            for release in self.releases
        )
        self._bases: dict[tuple[int, str], Normalised] = {}
        self._asks: dict[int, list[Ask]] = {}
        self._sheets: dict[tuple[int, str, str], Sheet] = {}
        self._numbers: dict[LinearCell, int] = {}
        self._numbered: dict[int, tuple[Verdict, int]] = {}
        """By the id of a verdict, which is kept with the number of its cell."""
        self._sized: dict[tuple[int, int, str, str, int], Verdict] = {}
        self._kept: LinearAnswers | None = None
        self._place_of: dict[int, int] = {}
        """Of each kept cell, the number that it has here."""
        self._least = 0
        self._workers: Workers[Space] | None = None
        self._coming: int | None = None
        self._digest = ""
        for release in self.releases:
            for scheme in self.schemes:
                self._base(release, scheme)

    # ---------------------------------------------------------------------------------------- looking up

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

    def cell(self, release: str, scheme: str, ask: Ask, sm: str, fi: str | None = None) -> LinearCell:
        """Return a cell; FlashInfer is the one that the release pins unless given."""
        sm_class = self.sm_classes[self.sms.index(sm)]
        fi_class = self.fi_classes[self.flashinfer.index(fi or self._pinned[release])]
        return self.cells[self.sheet(release, scheme, ask).at(sm_class, fi_class)]

    def engine_pick(self, release: str, scheme: str, sm: str, fi: str | None = None) -> LinearCell:
        """Return what the engine picks where nothing is asked for."""
        return self.cell(release, scheme, self.ask(release, ENGINE), sm, fi)

    def batch_invariant(self, release: str, scheme: str, sm: str) -> LinearCell:
        """Return what is computed with VLLM_BATCH_INVARIANT."""
        return self.cell(release, scheme, self.ask(release, BATCH_INVARIANT), sm)

    def ask(self, release: str, id_: str) -> Ask:
        """Return a release's way to ask by its id. Raises `KeyError`."""
        found = next((ask for ask in self.asks(release) if ask.id == id_), None)
        if found is None:
            raise KeyError(id_)
        return found

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

    def _class(self, release: str) -> int:
        return self.release_classes[self.releases.index(release)]

    # -------------------------------------------------------------------------------------------- asking

    def sheet(self, release: str, scheme: str, ask: Ask) -> Sheet:
        """Return the answers of a way to ask, made once for releases that are the same to linear layers."""
        key = (self._class(release), scheme, ask.id)
        sheet = self._sheets.get(key)
        if sheet is None:
            sheet = self._sheets[key] = self._recalled(key) or self._asked(release, scheme, ask)
        return sheet

    def number_everything(self) -> None:
        """Make every sheet: from here on it does not matter in which order they are asked for."""
        for release in self.releases:
            for ask in self.asks(release):
                for scheme in self.schemes:
                    self.sheet(release, scheme, ask)

    def _asked(self, release: str, scheme: str, ask: Ask) -> Sheet:
        base = self._base(release, scheme)
        return Sheet(tuple([self._strip(base, ask, self.sms[at]) for at in leaders(self.sm_classes)]))

    # ------------------------------------------------------------------------------------------- keeping

    def recall(self, workers: Workers[Space]) -> None:
        """Look for answers that were kept and still hold, or have them asked; `sheet` takes them instead of asking."""
        kept = recall(f"linear-{self._engine_name}", LinearAnswers)
        if kept is not None and kept.digest == Dependence(self._space).linear():
            self._kept, self._least = kept, len(kept.sheets)
        else:
            self._workers, self._coming = workers, workers.add(_ask_everything, self._engine_name)

    def keep(self) -> None:
        """Keep what was answered, if it is more than what was recalled. `recall` comes before."""
        if self._least < len(self._sheets):
            self._digest = Dependence(self._space).linear()
            keep(f"linear-{self._engine_name}", self.answers())

    def answers(self) -> LinearAnswers:
        """Return what was answered."""
        placed = zip(self.reasons.items, self.reasons.paths, strict=True)
        reasons = [msgspec.structs.replace(reason, line=path) for reason, path in placed]
        sheets = {_name(key): sheet for key, sheet in self._sheets.items()}
        return LinearAnswers(self._digest, reasons, self.cells, sheets)

    def _recalled(self, key: tuple[int, str, str]) -> Sheet | None:
        """Return a sheet that is kept, or was asked elsewhere, with its cells numbered as they are met here."""
        if self._workers is not None and self._coming is not None:
            came, self._coming = self._workers.result(self._coming), None
            self._kept = None if came is None else msgspec.msgpack.decode(came, type=LinearAnswers)
        sheet = self._kept.sheets.get(_name(key)) if self._kept is not None else None
        if self._kept is None or sheet is None:
            return None
        return Sheet(tuple([tuple([self._placed(number_, self._kept) for number_ in strip]) for strip in sheet.strips]))

    def _placed(self, number_: int, kept: LinearAnswers) -> int:
        """Return the number that a kept cell has here; reasons are numbered as they are met."""
        known = self._place_of.get(number_)
        if known is None:
            cell = kept.cells[number_]
            reasons = tuple([self.reasons.add(kept.reasons[n]) for n in cell.reasons])
            known = self._place_of[number_] = self._intern(cell._replace(reasons=reasons))
        return known

    def _strip(self, base: Normalised, ask: Ask, sm: str) -> tuple[int, ...]:
        """Return the cells of an SM: one where the FlashInfer version cannot matter, else one per class of versions."""
        dtype = dtype_on(self._resolver.matrix, sm, str(base.facts.dtype))
        unsaid = msgspec.structs.replace(base.facts, sm=sm, dtype=dtype, flashinfer_version=None, **ask.fields)
        verdict = self._judge(base, unsaid)
        judged = self.program(str(unsaid.engine_version)).select(unsaid).judgements
        settled = not any("flashinfer_version" in one.missing for one in judged)  # also of kernels that come later
        known = verdict.linear is None or verdict.linear.library_kernel is None
        if self._quiet and known and settled and "flashinfer_version" not in verdict.missing:
            return (self._number(verdict, unsaid),)
        cells: dict[int, int] = {}
        alike = self._alike(verdict.selected if settled else None)
        for number_ in alike:
            if number_ not in cells:
                version = self.flashinfer[leaders(self.fi_classes)[alike.index(number_)]]
                facts = msgspec.structs.replace(unsaid, flashinfer_version=version)
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
            given = Configuration(engine=self._engine_name, engine_version=release, linear=scheme)
            base = self._bases[key] = normalise(self._resolver.matrix, given)
        return base

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
