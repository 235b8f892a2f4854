"""One backend's answers, asked of the resolver once per class of configurations that it cannot tell apart."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

from compatcheck.docs.axes import SHAPES, SINKS, shape_offset
from compatcheck.docs.bitmaps import positions
from compatcheck.docs.cells import cell_of
from compatcheck.docs.feature_answers import FeatureAnswers
from compatcheck.docs.marks import Marks, Signature
from compatcheck.docs.reasons import Reasons
from compatcheck.docs.run import Run
from compatcheck.docs.sheets import INNER, Answered, Cell, Featured, Part, Sheet, Strip
from compatcheck.docs.smallest import Classes, smallest

if TYPE_CHECKING:
    from compatcheck.docs.bitmaps import Bitmaps
    from compatcheck.docs.question import Asked, Questions
    from compatcheck.docs.reasons import Reason
    from compatcheck.docs.space import Space


class Asking:
    """Asks about one backend; a block is made when it is first asked for."""

    def __init__(self, space: Space, backend: str) -> None:
        self.space = space
        self.backend = backend
        self.kind = space.kind(backend)
        self.cells: list[Cell] = []
        self.strips: list[Strip] = []
        self.sheets: list[Sheet] = []
        self._reasons = Reasons(space.matrix.rules)
        self._numbers: dict[Any, int] = {}
        self._known: dict[Signature, int] = {}
        self._runs: dict[str, Run] = {}
        self._by_questions: dict[Questions, Run] = {}
        self._by_asked: dict[int, tuple[Asked, Run]] = {}
        """By the id of what is asked, which is kept with its run."""
        self._strip_of: dict[tuple[Any, ...], int] = {}
        self._featured: dict[str, Featured | None] = {}
        self._features: FeatureAnswers | None = None
        self._ran: dict[tuple[int, int], tuple[tuple[int, Cell] | None, tuple[int, Cell] | None]] = {}
        start = shape_offset(self.kind)
        self._spans = {
            "kv": slice(0, len(space.kv_dtypes)),
            "sm": slice(0, len(space.sms)),
            "shape": slice(start, start + len(SHAPES[self.kind.id])),
            "sink": slice(0, len(SINKS)),
            "fi": slice(0, len(space.flashinfer)),
        }

    @property
    def reasons(self) -> list[Reason]:
        """The reasons of the cells."""
        return self._reasons.items

    def part(self, release: str) -> Part:
        """Return the block of a release; releases of one run share it."""
        run = self._run(release)
        if run.part is None:
            run.part = self._make(run)
        return run.part

    def answered(self) -> Answered:
        """Return everything there is to know of the backend.

        The newest release is asked about first, then all from the oldest on, as the pages come: releases that give the
        same reason from different lines of the matrix show the line that was met first.
        """
        newest, *older = [r for r in reversed(self.space.releases) if self.backend in self.space.backends(r)]
        runs = {release: self._run(release) for release in (newest, *older)}
        self.part(newest)
        features = {sm: featured for sm in self.space.sms if (featured := self.featured(sm)) is not None}
        parts: dict[str, Part] = {runs[release].leader: self.part(release) for release in (newest, *reversed(older))}
        leaders = list(parts)
        places = {release: leaders.index(run.leader) for release, run in runs.items()}
        return Answered(self.reasons, self.cells, self.strips, self.sheets, list(parts.values()), places, features)

    def featured(self, sm: str) -> Featured | None:
        """Return what is said of features on an SM under the newest release; None where nothing runs there."""
        space, release = self.space, self.space.newest
        if self.backend not in space.backends(release):
            return None
        if sm not in self._featured:
            self._featured[sm] = None
            base = self._first_that_runs(sm)
            if base is not None:
                kv, shape, cell = base
                run, features = self._run(release), self._features
                if features is None:
                    features = self._features = FeatureAnswers(space, self.backend, run.judging, self._reasons)
                pinned = space.at["fi", space.engine.releases[release].flashinfer]
                at = {"kv": space.at["kv", kv], "sm": space.at["sm", sm], "shape": shape, "sink": 0, "fi": pinned}
                facts = space.facts(release, self.backend, sm, kv, SHAPES[self.kind.id][shape])
                checks, rules = run.answers(run.bitmaps.cell(at))
                self._featured[sm] = Featured(kv, shape, features.of(facts, checks, rules, cell))
        return self._featured[sm]

    def _first_that_runs(self, sm: str) -> tuple[str, int, Cell] | None:
        """Return the first KV-cache dtype and shape's position with which the newest release runs on an SM; its cell.

        One that runs well comes before one that runs badly: a feature's own answer shows on top of it.
        """
        space, release = self.space, self.space.newest
        part = self.part(release)
        fi = space.at["fi", space.engine.releases[release].flashinfer]
        badly: tuple[str, int, Cell] | None = None
        for kv in space.kv_of(release):
            sheet = part.kv[space.at["kv", kv]]
            if sheet is None:
                continue
            strip = self.sheets[sheet].strips[space.at["sm", sm]]
            well, at_all = self._running(strip, fi)
            if well is not None:
                return kv, *well
            if badly is None and at_all is not None:
                badly = kv, *at_all
        return badly

    def _running(self, strip: int, fi: int) -> tuple[tuple[int, Cell] | None, tuple[int, Cell] | None]:
        """Return the first shape of a strip, and its cell, that runs well, and the first that runs badly."""
        known = self._ran.get((strip, fi))
        if known is None:
            said = self.strips[strip]
            cells = [self.cells[said.at((shape, 0, fi))] for shape in range(len(SHAPES[self.kind.id]))]
            first = [
                next(((shape, cell) for shape, cell in enumerate(cells) if cell.verdict == verdict), None)
                for verdict in ("supported", "degraded")
            ]
            known = self._ran[strip, fi] = (first[0], first[1])
        return known

    # ------------------------------------------------------------------------------------------ runs

    def _run(self, release: str) -> Run:
        """Return the releases that differ in nothing the backend depends on; the first that was met answers."""
        run = self._runs.get(release)
        if run is None:
            asked = self.space.asker.asked(self.backend, release)
            # Comparing all that is asked takes longer than being asked whether it is the same object.
            _, run = self._by_asked.get(id(asked)) or (asked, self._by_questions.get(asked.questions))
            if run is None or not run.accepted.issuperset(self.space.kv_of(release)):
                run = Run(self.space, self.backend, release, asked, self._spans)
                self._by_questions[asked.questions] = run
            self._by_asked[id(asked)] = (asked, run)
            self._runs[release] = run
        return run

    def _make(self, run: Run) -> Part:
        """Return a block: cells are parted by what marks them, and one of each group is asked about."""
        bitmaps = run.bitmaps
        marked = Marks(run.asked.questions, bitmaps).groups(bitmaps.of(run.accepts)[0])
        groups = sorted(marked, key=lambda one: one[0] & -one[0])  # by their first cells
        numbers = [-1]
        for group, signature in groups:
            number = self._known.get(signature)
            if number is None:
                number = self._known[signature] = self._ask(run, (group & -group).bit_length() - 1)
            numbers.append(number)
        table = [numbers[position] for position in positions([group for group, _ in groups], bitmaps.cells)]
        return self._part(bitmaps, table)

    def _part(self, bitmaps: Bitmaps, table: list[int]) -> Part:
        """Return a block made of strips: what the inner axes tell apart, for each KV-cache dtype and SM."""
        sizes = tuple([bitmaps.sizes[axis] for axis in INNER])
        classes = tuple([tuple(bitmaps.classes[axis]) for axis in INNER])
        length = prod(sizes)
        sms = bitmaps.sizes["sm"]
        asked: dict[int, None] = {}
        sheets: list[int | None] = []
        for kv in range(bitmaps.sizes["kv"]):
            rows = table[kv * sms * length : (kv + 1) * sms * length]
            if rows[0] < 0:
                sheets.append(None)
                continue
            asked |= dict.fromkeys(rows)
            strips = [self._strip(classes, sizes, tuple(rows[at : at + length])) for at in range(0, len(rows), length)]
            sheets.append(self._intern(self.sheets, Sheet(tuple([strips[place] for place in bitmaps.classes["sm"]]))))
        return Part(tuple([sheets[place] for place in bitmaps.classes["kv"]]), tuple(asked))

    def _strip(self, classes: Classes, sizes: tuple[int, ...], cells: tuple[int, ...]) -> int:
        """Return the number of the strip with these cells, told apart by no more than it takes."""
        known = self._strip_of.get((cells, classes))
        if known is None:
            known = self._intern(self.strips, smallest(classes, sizes, cells))
            self._strip_of[cells, classes] = known
        return known

    def _intern(self, items: list[Any], item: Any) -> int:
        number = self._numbers.setdefault(item, len(items))
        if number == len(items):
            items.append(item)
        return number

    def _ask(self, run: Run, cell: int) -> int:
        """Return the number of the cell that stands for a group."""
        space, release, at = self.space, run.leader, run.bitmaps.place(cell)
        facts = space.facts(
            release,
            self.backend,
            space.sms[at["sm"]],
            space.kv_dtypes[at["kv"]],
            SHAPES[self.kind.id][at["shape"]],
            sink=SINKS[at["sink"]],
            fi=space.flashinfer[at["fi"]],
        )
        checks, rules = run.answers(cell)
        verdict = run.judging.of(facts, checks, rules)
        return self._intern(self.cells, cell_of(verdict, self._reasons, run.judging.program, facts))
