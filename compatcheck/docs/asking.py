"""One backend's answers, asked of the resolver once per class of configurations that it cannot tell apart."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any

import msgspec

from compatcheck.docs.axes import SHAPES, SINKS, shape_offset
from compatcheck.docs.classes import ReleaseView, number_values
from compatcheck.docs.features import QUESTIONS
from compatcheck.docs.predicates import Looked, Vector
from compatcheck.docs.reasons import Reasons, without_values
from compatcheck.docs.refusing import Refusing
from compatcheck.docs.sheets import INNER, Answered, Cell, Featured, Part, Sheet, Strip
from compatcheck.resolve.findings import NOT_ASKED
from compatcheck.resolve.narrowed import Narrowed
from compatcheck.resolve.normalise import Normalised

if TYPE_CHECKING:
    from compatcheck.docs.reasons import Reason
    from compatcheck.docs.space import Space
    from compatcheck.resolve.configuration import Configuration
    from compatcheck.resolve.resolver import Resolver
    from compatcheck.resolve.rules import RuleProgram
    from compatcheck.resolve.verdict import Verdict


class Run(msgspec.Struct, kw_only=True):
    """Releases that differ in nothing a backend depends on, and the one that answers for them."""

    leader: str
    rules: list[RuleProgram]
    kvs: list[str]
    sms: list[str]


class Refusals(msgspec.Struct, kw_only=True):
    """What selector and earlier rules refuse for one KV-cache dtype: each value's class on SM and inner axes, cells."""

    classes: list[list[int]]
    cells: dict[tuple[int, ...], int]
    through: set[int]
    """Classes of SMs on which not everything is refused."""


def judge(resolver: Resolver, facts: Configuration, release: str) -> Verdict:
    """Return the verdict for complete facts."""
    return resolver.judge(Normalised(facts=facts, release=release, answered_as=None, assumed=()))


def cell_of(space: Space, verdict: Verdict, reasons: Reasons, facts: Configuration, release: str) -> tuple[Cell, bool]:
    """Return what a verdict says, and whether a start goes on although the selector was not asked."""
    program = space.resolver.engine(space.engine_name, release).program(str(facts.backend))
    cell = Cell(
        verdict.verdict,
        verdict.engine_accepts,
        verdict.route.id if verdict.route else None,
        verdict.fails_at,
        tuple([reasons.number(finding, program, facts) for finding in verdict.findings]),
        verdict.missing,
        without_values(verdict.untested),
    )
    return cell, any(finding.code == NOT_ASKED for finding in verdict.findings)


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
        self._asked: list[int] = []
        """Cells in the order in which they were asked for, those that were known already too."""
        self._strip_of: dict[tuple[Any, ...], tuple[int, list[int]]] = {}
        self._sheet_of: dict[tuple[Any, ...], tuple[int, list[int]]] = {}
        self._refusals: dict[tuple[Any, ...], tuple[Refusals, list[int]]] = {}
        self._refused_alike: dict[Any, int] = {}
        self._refusing: dict[str, Refusing] = {}
        self._narrow: dict[str, Resolver] = {}
        self._parts: dict[str, Part] = {}
        self._featured: dict[str, Featured | None] = {}
        self._counts = (len(SHAPES[self.kind.id]), len(SINKS), len(space.flashinfer))
        self._routing = space.routing_of(backend)
        self._classes: dict[tuple[Any, ...], tuple[list[int], list[int]]] = {}
        self._cell_of: dict[int, tuple[Verdict, int, bool]] = {}
        self._runs = self._find_runs()

    @property
    def reasons(self) -> list[Reason]:
        """The reasons of the cells."""
        return self._reasons.items

    def part(self, release: str) -> Part:
        """Return the block of a release; releases of one run share it."""
        run = self._runs[release]
        known = self._parts.get(run.leader)
        if known is None:
            known = self._parts[run.leader] = self._make(run)
        return known

    def answered(self) -> Answered:
        """Return everything there is to know of the backend.

        The newest release is asked about first, then all from the oldest on, as the pages come: releases that give the
        same reason from different lines of the matrix show the line that was met first.
        """
        newest, *older = self._runs
        parts = {self._runs[newest].leader: self.part(newest)}
        features = {sm: featured for sm in self.space.sms if (featured := self.featured(sm)) is not None}
        parts |= {self._runs[release].leader: self.part(release) for release in reversed(older)}
        leaders = list(parts)
        places = {release: leaders.index(run.leader) for release, run in self._runs.items()}
        return Answered(self.reasons, self.cells, self.strips, self.sheets, list(parts.values()), places, features)

    def featured(self, sm: str) -> Featured | None:
        """Return what is said of features on an SM under the newest release; None where nothing runs there."""
        space, release = self.space, self.space.newest
        if release not in self._runs:
            return None
        if sm not in self._featured:
            self._featured[sm] = None
            base = self._first_that_runs(sm)
            if base is not None:
                kv, shape = base
                facts = space.facts(release, self.backend, sm, kv, SHAPES[self.kind.id][shape])
                asked = [msgspec.structs.replace(facts, **{field: value}) for field, value in QUESTIONS]
                verdicts = [judge(space.resolver, one, release) for one in asked]
                answers = zip(verdicts, asked, strict=True)
                cells = [cell_of(space, said, self._reasons, one, release)[0] for said, one in answers]
                self._featured[sm] = Featured(kv, shape, tuple(cells))
        return self._featured[sm]

    def _first_that_runs(self, sm: str) -> tuple[str, int] | None:
        """Return the first KV-cache dtype and shape's position with which the newest release runs on an SM.

        One that runs well comes before one that runs badly: a feature's own answer shows on top of it.
        """
        space, release = self.space, self.space.newest
        part = self.part(release)
        fi = space.at["fi", space.engine.releases[release].flashinfer]
        badly: tuple[str, int] | None = None
        for kv in space.kv_of(release):
            sheet = part.kv[space.at["kv", kv]]
            if sheet is None:
                continue
            strip = self.strips[self.sheets[sheet].strips[space.at["sm", sm]]]
            for shape in range(len(SHAPES[self.kind.id])):
                verdict = self.cells[strip.at((shape, 0, fi))].verdict
                if verdict == "supported":
                    return kv, shape
                if verdict == "degraded" and badly is None:
                    badly = kv, shape
        return badly

    # ----------------------------------------------------------------------------------------- runs

    def _find_runs(self) -> dict[str, Run]:
        """Group releases that differ in nothing the backend depends on; the newest answers for its group."""
        space, backend = self.space, self.backend
        found: dict[Any, Run] = {}
        runs: dict[str, Run] = {}
        let_through: dict[int, tuple[list[str], list[str]]] = {}
        for release in reversed(space.releases):
            if backend not in space.backends(release):
                continue
            view = space.view(release)
            opened = view.opened(backend, self.kind)
            selector = view.selector(backend)
            if selector.number not in let_through:
                let_through[selector.number] = view.let_through(backend, opened)
            kvs, sms = let_through[selector.number]
            rules = view.possible_rules(opened, kvs, sms, view.rules_named(space.rules_of(backend)))
            after = [*[view.named(rule) for rule in rules], *view.routes(opened, kvs, sms, self._routing)]
            key = (selector.number, *[looked.number for looked in after])
            run = found.get(key)
            if run is None or not set(space.kv_of(release)) <= set(space.kv_of(run.leader)):
                run = found[key] = Run(leader=release, rules=rules, kvs=kvs, sms=sms)
            runs[release] = run
        return runs

    # --------------------------------------------------------------------------------------- blocks

    def _make(self, run: Run) -> Part:
        space = self.space
        view = space.view(run.leader)
        opened = view.opened(self.backend, self.kind)
        selector = [view.selector(self.backend), *[view.named(r) for r in run.rules if r.rule.bites == "config"]]
        late = [*[view.named(rule) for rule in run.rules], *view.routes(opened, run.kvs, run.sms, self._routing)]
        accepted = space.kv_of(run.leader)
        # What the selector never lets through differs only in how it refuses.
        through = [kv in run.kvs for kv in space.kv_dtypes]
        vectors = self._vectors(selector, "kv") | {
            tuple(through),
            tuple([kv in accepted for kv in space.kv_dtypes]),
        }
        for vector in self._vectors(late, "kv"):
            vectors.add(tuple([answer if let else None for answer, let in zip(vector, through, strict=True)]))
        classes, first = number_values(vectors, len(space.kv_dtypes))
        start = len(self._asked)
        sheets = [self._sheet(run, kv, view, selector) if space.kv_dtypes[kv] in accepted else None for kv in first]
        return Part(tuple([sheets[c] for c in classes]), tuple(dict.fromkeys(self._asked[start:])))

    def _vectors(self, looked: list[Looked], axis: str) -> set[Vector]:
        found = {vector for item in looked for name, vector in item.vectors if name == axis}
        if axis == "shape":
            start = shape_offset(self.kind)
            return {vector[start : start + len(SHAPES[self.kind.id])] for vector in found}
        return found

    def _classes_of(self, looked: list[Looked], axis: str, count: int) -> tuple[list[int], list[int]]:
        """Return the class of each value of an axis, and the first value of each class."""
        key = (axis, frozenset([item.number for item in looked]))
        known = self._classes.get(key)
        if known is None:
            known = self._classes[key] = number_values(self._vectors(looked, axis), count)
        return known

    def _sheet(self, run: Run, kv: int, view: ReleaseView, selector: list[Looked]) -> int:
        """Return the number of a KV-cache dtype's sheet: refusals by the selector first, then what else holds."""
        space = self.space
        name = space.kv_dtypes[kv]
        classes, _ = self._classes_of(selector, "kv", len(space.kv_dtypes))
        accepted = space.kv_of(run.leader)
        alike = next(i for i in range(len(classes)) if classes[i] == classes[kv] and space.kv_dtypes[i] in accepted)
        start = len(self._asked)
        refusals = self._refusals_of(run, alike, name, selector)
        late = list(selector)
        rules: list[RuleProgram] = []
        if refusals.through:
            opened = self._opened(view, kv_cache_dtype=name)
            sms = [sm for i, sm in enumerate(space.sms) if refusals.classes[0][i] in refusals.through]
            rules = view.possible_rules(opened, [name], sms, run.rules)
            late += [*[view.named(rule) for rule in rules], *view.routes(opened, [name], sms, self._routing)]
        key = (kv, *[item.number for item in late])
        if key in self._sheet_of:
            number, asked = self._sheet_of[key]
            self._asked += asked
            return number
        classes, first = self._classes_of(late, "sm", len(space.sms))
        strips = [self._strip(run, name, sm, refusals, view, selector, rules) for sm in first]
        number = self._intern(self.sheets, Sheet(tuple([strips[c] for c in classes])))
        self._sheet_of[key] = number, list(dict.fromkeys(self._asked[start:]))
        return number

    def _opened(self, view: ReleaseView, **known: Any) -> list[Configuration]:
        return [msgspec.structs.replace(facts, **known) for facts in view.opened(self.backend, self.kind)]

    def _refusals_of(self, run: Run, alike: int, kv: str, selector: list[Looked]) -> Refusals:
        """Return what the selector refuses; KV-cache dtypes that it cannot tell apart (`alike`) are asked once."""
        key = (alike, *[looked.number for looked in selector])
        if key in self._refusals:
            refusals, asked = self._refusals[key]
            self._asked += asked
            return refusals
        start = len(self._asked)
        refusals = self._ask_selector(run, kv, selector)
        self._refusals[key] = refusals, list(dict.fromkeys(self._asked[start:]))
        return refusals

    def _ask_selector(self, run: Run, kv: str, selector: list[Looked]) -> Refusals:
        sms, first = self._classes_of(selector, "sm", len(self.space.sms))
        inner, firsts = self._inner(selector)
        classes = [sms, *inner]
        refused: dict[tuple[int, ...], int] = {}
        through: set[int] = set()
        refusing = self._refusing.get(run.leader)
        if refusing is None:
            view = self.space.view(run.leader)
            refusing = self._refusing[run.leader] = Refusing(view, self.backend, run.rules, self._facts_at)
        for at in product(first, *firsts):
            alike = refusing.alike(kv, at)
            number = None if alike is None else self._refused_alike.get(alike)
            accepts: bool | None = False
            if number is None:
                number, accepts = self._ask(run, self._facts_at(run.leader, kv, at))
                if alike is not None:
                    self._refused_alike[alike] = number
            else:
                self._asked.append(number)
            place = tuple([classes[i][p] for i, p in enumerate(at)])
            if accepts is False:
                refused[place] = number
            else:
                through.add(place[0])
        return Refusals(classes=classes, cells=refused, through=through)

    def _strip(
        self,
        run: Run,
        kv: str,
        sm: int,
        refusals: Refusals,
        view: ReleaseView,
        selector: list[Looked],
        rules: list[RuleProgram],
    ) -> int:
        """Return the number of the strip of one KV-cache dtype and SM: only what can hold there tells values apart."""
        looked = list(selector)
        if refusals.classes[0][sm] in refusals.through:
            name = self.space.sms[sm]
            opened = self._opened(view, kv_cache_dtype=kv, **view.at_sm(name))
            looked += [view.named(rule) for rule in view.possible_rules(opened, [kv], [name], rules)]
            looked += view.routes(opened, [kv], [name], self._routing)
        key = (kv, sm, *[item.number for item in looked])
        if key in self._strip_of:
            number, asked = self._strip_of[key]
            self._asked += asked
            return number
        classes, firsts = self._inner(looked)
        cells: list[int] = []
        new: list[int] = []
        for inner in product(*firsts):
            at = (sm, *inner)
            cell = refusals.cells.get(tuple([refusals.classes[i][p] for i, p in enumerate(at)]))
            if cell is None:
                cell, _ = self._ask(run, self._facts_at(run.leader, kv, at))
                new.append(cell)
            cells.append(cell)
        number = self._intern(
            self.strips, Strip(tuple(map(tuple, classes)), tuple([len(f) for f in firsts]), tuple(cells))
        )
        self._strip_of[key] = number, list(dict.fromkeys(new))
        return number

    def _intern(self, items: list[Any], item: Any) -> int:
        number = self._numbers.setdefault(item, len(items))
        if number == len(items):
            items.append(item)
        return number

    def _inner(self, looked: list[Looked]) -> tuple[list[list[int]], list[list[int]]]:
        pairs = [self._classes_of(looked, axis, count) for axis, count in zip(INNER, self._counts, strict=True)]
        return [classes for classes, _ in pairs], [first for _, first in pairs]

    # -------------------------------------------------------------------------------------- asking

    def _facts_at(self, release: str, kv: str, at: tuple[int, ...]) -> Configuration:
        space = self.space
        sm, shape, sink, fi = at
        return space.facts(
            release,
            self.backend,
            space.sms[sm],
            kv,
            SHAPES[self.kind.id][shape],
            sink=SINKS[sink],
            fi=space.flashinfer[fi],
        )

    def _ask(self, run: Run, facts: Configuration) -> tuple[int, bool | None]:
        """Return the number of a cell, and whether the selector accepts: None where it is not asked."""
        resolver = self._narrow.get(run.leader)
        if resolver is None:
            resolver = self._narrow[run.leader] = Narrowed(self.space.resolver, run.rules)
        verdict = judge(resolver, facts, run.leader)
        known = self._cell_of.get(id(verdict))
        if known is None:
            cell, goes_on = cell_of(self.space, verdict, self._reasons, facts, run.leader)
            # The verdict is kept with its cell: an id is only unique among objects that live.
            known = self._cell_of[id(verdict)] = verdict, self._intern(self.cells, cell), goes_on
        _, number, goes_on = known
        self._asked.append(number)
        return number, None if goes_on else verdict.engine_accepts
