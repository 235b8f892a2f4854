"""Every cell of the tables, answered by the resolver once per class of configurations that it cannot tell apart."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any

import msgspec

from compatcheck.docs.axes import SHAPES, SINKS, Kind, Shape, flashinfer_versions, kind_of, releases, shape_offset
from compatcheck.docs.classes import ReleaseView, number_values
from compatcheck.docs.predicates import Looked, Vector
from compatcheck.docs.reasons import Reasons, without_values
from compatcheck.docs.sheets import INNER, Block, Cell, Narrowed, Refusals, Run, Sheet, Strip
from compatcheck.resolve.backend import in_release
from compatcheck.resolve.configuration import Configuration
from compatcheck.resolve.findings import NOT_ASKED
from compatcheck.resolve.normalise import Normalised, dtype_on, normalise
from compatcheck.resolve.resolver import Resolver

if TYPE_CHECKING:
    from compatcheck.matrix.load import LoadedMatrix
    from compatcheck.resolve.rules import RuleProgram
    from compatcheck.resolve.verdict import Verdict


class Grid:
    """The answers for one engine; blocks are made when first asked for."""

    def __init__(self, loaded: LoadedMatrix, engine_name: str = "vllm") -> None:
        self.loaded = loaded
        self.resolver = loaded.resolver
        self.matrix = loaded.matrix
        self.engine_name = engine_name
        self.engine = loaded.matrix.engines[engine_name]
        self.releases = releases(self.engine)
        self.newest = self.releases[-1]
        self.sms = list(self.matrix.sms)
        self.kv_dtypes = list(self.matrix.kv_cache_dtypes)
        self.flashinfer = flashinfer_versions(self.matrix, self.engine)
        self.cells: list[Cell] = []
        self.sheets: list[Sheet] = []
        self.strips: list[Strip] = []
        self.reasons = Reasons(self.matrix.rules)
        self._kv_sets = {release: frozenset(self.kv_of(release)) for release in self.releases}
        self._at = {("sm", sm): n for n, sm in enumerate(self.sms)}
        self._at |= {("kv", kv): n for n, kv in enumerate(self.kv_dtypes)}
        self._at |= {("fi", version): n for n, version in enumerate(self.flashinfer)}
        self._at |= {(kind, shape.id): n for kind, shapes in SHAPES.items() for n, shape in enumerate(shapes)}
        self._cell_numbers: dict[Cell, int] = {}
        self._sheet_numbers: dict[Sheet, int] = {}
        self._strip_numbers: dict[Strip, int] = {}
        self._strip_of: dict[tuple[Any, ...], int] = {}
        self._refusals: dict[tuple[Any, ...], Refusals] = {}
        self._narrow: dict[tuple[str, str], Narrowed] = {}
        self._refused_alike: dict[Any, int] = {}
        self._sheet_of: dict[tuple[Any, ...], int] = {}
        self._blocks: dict[tuple[str, str], Block] = {}
        self._runs: dict[str, dict[str, Run]] = {}
        self._let_through: dict[tuple[str, int], tuple[list[str], list[str]]] = {}
        self._kinds: dict[str, Kind] = {}
        self._bases = {release: self._base(release) for release in self.releases}
        self._numbers: dict[Any, int] = {}
        self._kernels: dict[Any, Looked] = {}
        self._views: dict[str, ReleaseView] = {}

    # --------------------------------------------------------------------------------------- asking

    def backends(self, release: str, kind: Kind | None = None) -> list[str]:
        """Return the backends of a release, of one kind or of all."""
        present = [n for n, b in self.engine.backends.items() if in_release(b.since, b.until, release)]
        return present if kind is None else [n for n in present if self.kind(n) == kind]

    def kind(self, backend: str) -> Kind:
        """Return the kind of attention a backend is for, as its newest release states it."""
        known = self._kinds.get(backend)
        if known is None:
            entry = self.engine.backends[backend]
            last = [r for r in self.releases if in_release(entry.since, entry.until, r)][-1]
            facts = self.resolver.engine(self.engine_name, last).program(backend).facts
            known = self._kinds[backend] = kind_of(mla=bool(facts["mla"]), sparse=bool(facts["sparse"]))
        return known

    def kv_of(self, release: str) -> list[str]:
        """Return the KV-cache dtypes that a release's option accepts, in the matrix's order."""
        accepted = self.resolver.engine(self.engine_name, release).kv_cache_dtypes
        return [name for name in self.kv_dtypes if name in accepted]

    def cell(
        self, release: str, backend: str, sm: str, kv: str, shape: str, *, sink: bool = False, fi: str | None = None
    ) -> Cell:
        """Return a cell; without a FlashInfer version, with the one that the release pins."""
        return self.cells[self.number(release, backend, sm, kv, shape, sink=sink, fi=fi)]

    def number(
        self, release: str, backend: str, sm: str, kv: str, shape: str, *, sink: bool = False, fi: str | None = None
    ) -> int:
        """Return the number of a cell in `cells`. Raises `KeyError` where the release does not accept the dtype."""
        at = self._at
        sheet = self.block(release, backend).kv[at["kv", kv]]
        if sheet is None or kv not in self._kv_sets[release]:
            raise KeyError(f"{self.engine.title} {release} does not accept --kv-cache-dtype {kv}")
        version = fi or self.engine.releases[release].flashinfer
        strip = self.strips[self.sheets[sheet].strips[at["sm", sm]]]
        return strip.at((at[self.kind(backend).id, shape], int(sink), at["fi", version]))

    def differing_sms(self, old: str, new: str, backend: str, kv: str) -> list[str]:
        """Return the SMs on which two releases may say something else of a backend and a KV-cache dtype."""
        at = self.kv_dtypes.index(kv)
        one, other = self.block(old, backend).kv[at], self.block(new, backend).kv[at]
        if one is None or other is None:
            return self.sms
        fi = INNER.index("fi")
        was, now = [self.flashinfer.index(self.engine.releases[release].flashinfer) for release in (old, new)]
        found: list[str] = []
        for sm, before, after in zip(self.sms, self.sheets[one].strips, self.sheets[other].strips, strict=True):
            classes = self.strips[before].classes[fi]
            if before != after or classes[was] != classes[now]:
                found.append(sm)
        return found

    def base(self, release: str) -> Configuration:
        """Return the facts of a release with every default filled in, and no SM, backend or shape."""
        return self._bases[release]

    def on(self, sm: str, release: str) -> Configuration:
        """Return the base facts on an SM: with float16 where the engine does not run bfloat16 models."""
        base = self._bases[release]
        return msgspec.structs.replace(base, sm=sm, dtype=dtype_on(self.matrix, sm, str(base.dtype)))

    def facts(
        self, release: str, backend: str, sm: str, kv: str, shape: Shape, *, sink: bool = False, fi: str | None = None
    ) -> Configuration:
        """Return the configuration of a cell, with every default filled in."""
        kind = self.kind(backend)
        return msgspec.structs.replace(
            self.on(sm, release),
            backend=backend,
            kv_cache_dtype=kv,
            has_sink=sink,
            use_mla=kind.use_mla,
            use_sparse=kind.use_sparse,
            **({"flashinfer_version": fi} if fi else {}),
            **shape.fields,
        )

    def cell_of(self, facts: Configuration, release: str) -> Cell:
        """Return the cell of complete facts that no axis holds, such as one with a feature asked for."""
        return self._cell(self.resolver, facts, release)[0]

    def judge(self, facts: Configuration, release: str) -> Verdict:
        """Return the resolver's verdict for complete facts."""
        verdict: Verdict = self.resolver.judge(Normalised(facts=facts, release=release, answered_as=None, assumed=()))
        return verdict

    # ----------------------------------------------------------------------------------------- runs

    def _base(self, release: str) -> Configuration:
        given = Configuration(engine=self.engine_name, engine_version=release)
        facts: Configuration = normalise(self.matrix, given).facts
        return facts

    def view(self, release: str) -> ReleaseView:
        """Return what a release's compiled conditions depend on."""
        view = self._views.get(release)
        if view is None:
            view = self._views[release] = ReleaseView(
                self.resolver, self.engine_name, release, self._bases[release], self._numbers, self._kernels
            )
        return view

    def _find_runs(self, backend: str) -> dict[str, Run]:
        """Group releases that differ in nothing the backend depends on; the newest answers for its group."""
        entry = self.engine.backends[backend]
        found: dict[Any, Run] = {}
        runs: dict[str, Run] = {}
        for release in reversed(self.releases):
            if not in_release(entry.since, entry.until, release):
                continue
            view = self.view(release)
            opened = view.opened(backend, self.kind(backend))
            selector = view.selector(backend)
            known = (backend, selector.number)
            if known not in self._let_through:
                self._let_through[known] = view.let_through(backend, opened)
            kvs, sms = self._let_through[known]
            rules = view.possible_rules(opened, kvs, sms)
            after = [*[view.named(rule) for rule in rules], *view.routes(opened, kvs, sms)]
            key = (selector.number, *[looked.number for looked in after])
            run = found.get(key)
            if run is None or not set(self.kv_of(release)) <= set(self.kv_of(run.leader)):
                run = found[key] = Run(leader=release, rules=rules, kvs=kvs, sms=sms)
            runs[release] = run
        return runs

    # --------------------------------------------------------------------------------------- blocks

    def block(self, release: str, backend: str) -> Block:
        """Return a backend's block at a release; releases of one run share it."""
        known = self._blocks.get((backend, release))
        if known is None:
            if backend not in self._runs:
                self._runs[backend] = self._find_runs(backend)
            run = self._runs[backend][release]
            if (backend, run.leader) not in self._blocks:
                self._blocks[backend, run.leader] = self._make(backend, run)
            known = self._blocks[backend, release] = self._blocks[backend, run.leader]
        return known

    def _make(self, backend: str, run: Run) -> Block:
        view = self.view(run.leader)
        opened = view.opened(backend, self.kind(backend))
        selector = [view.selector(backend), *[view.named(r) for r in run.rules if r.rule.bites == "config"]]
        late = [*[view.named(rule) for rule in run.rules], *view.routes(opened, run.kvs, run.sms)]
        accepted = self.kv_of(run.leader)
        # What the selector never lets through differs only in how it refuses.
        through = [kv in run.kvs for kv in self.kv_dtypes]
        vectors = self._vectors(selector, "kv", backend) | {
            tuple(through),
            tuple([kv in accepted for kv in self.kv_dtypes]),
        }
        for vector in self._vectors(late, "kv", backend):
            vectors.add(tuple([answer if let else None for answer, let in zip(vector, through, strict=True)]))
        classes, first = number_values(vectors, len(self.kv_dtypes))
        sheets = [
            self._sheet(backend, run, kv, view, selector) if self.kv_dtypes[kv] in accepted else None for kv in first
        ]
        return Block(kv=tuple([sheets[c] for c in classes]))

    def _vectors(self, looked: list[Looked], axis: str, backend: str) -> set[Vector]:
        found = {vector for item in looked for name, vector in item.vectors if name == axis}
        if axis == "shape":
            kind = self.kind(backend)
            start = shape_offset(kind)
            return {vector[start : start + len(SHAPES[kind.id])] for vector in found}
        return found

    def _sheet(self, backend: str, run: Run, kv: int, view: ReleaseView, selector: list[Looked]) -> int:
        """Return the number of a KV-cache dtype's sheet: refusals by the selector first, then what else holds."""
        name = self.kv_dtypes[kv]
        classes, _ = number_values(self._vectors(selector, "kv", backend), len(self.kv_dtypes))
        accepted = self.kv_of(run.leader)
        alike = next(i for i in range(len(classes)) if classes[i] == classes[kv] and self.kv_dtypes[i] in accepted)
        before = (backend, alike, *[looked.number for looked in selector])
        refusals = self._refusals.get(before)
        if refusals is None:
            refusals = self._refusals[before] = self._ask_selector(backend, run.leader, name, selector)
        late = list(selector)
        if refusals.through:
            opened = self._opened(view, backend, kv_cache_dtype=name)
            sms = [sm for i, sm in enumerate(self.sms) if refusals.classes[0][i] in refusals.through]
            rules = view.possible_rules(opened, [name], sms, run.rules)
            late += [*[view.named(rule) for rule in rules], *view.routes(opened, [name], sms)]
        else:
            rules = []
        key = (backend, kv, *[item.number for item in late])
        known = self._sheet_of.get(key)
        if known is None:
            classes, first = number_values(self._vectors(late, "sm", backend), len(self.sms))
            strips = [self._strip(backend, run.leader, name, sm, refusals, view, selector, rules) for sm in first]
            sheet = Sheet(tuple([strips[c] for c in classes]))
            known = self._sheet_of[key] = self._intern(self.sheets, self._sheet_numbers, sheet)
        return known

    def _opened(self, view: ReleaseView, backend: str, **known: Any) -> list[Configuration]:
        return [msgspec.structs.replace(facts, **known) for facts in view.opened(backend, self.kind(backend))]

    def _ask_selector(self, backend: str, release: str, kv: str, selector: list[Looked]) -> Refusals:
        sms, first = number_values(self._vectors(selector, "sm", backend), len(self.sms))
        inner, firsts = self._inner(backend, selector)
        classes = [sms, *inner]
        refused: dict[tuple[int, ...], int] = {}
        through: set[int] = set()
        for at in product(first, *firsts):
            number, accepts = self._ask_early(backend, release, kv, at)
            place = tuple([classes[i][p] for i, p in enumerate(at)])
            if accepts is False:
                refused[place] = number
            else:
                through.add(place[0])
        return Refusals(classes=classes, cells=refused, through=through)

    def _strip(
        self,
        backend: str,
        release: str,
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
            name = self.sms[sm]
            opened = self._opened(view, backend, kv_cache_dtype=kv, **view.at_sm(name))
            looked += [view.named(rule) for rule in view.possible_rules(opened, [kv], [name], rules)]
            looked += view.routes(opened, [kv], [name])
        key = (backend, kv, sm, *[item.number for item in looked])
        known = self._strip_of.get(key)
        if known is None:
            classes, firsts = self._inner(backend, looked)
            cells: list[int] = []
            for inner in product(*firsts):
                at = (sm, *inner)
                number = refusals.cells.get(tuple([refusals.classes[i][p] for i, p in enumerate(at)]))
                if number is None:
                    number, _ = self._ask(backend, release, self._facts_at(backend, release, kv, at))
                cells.append(number)
            strip = Strip(tuple(map(tuple, classes)), tuple([len(f) for f in firsts]), tuple(cells))
            known = self._strip_of[key] = self._intern(self.strips, self._strip_numbers, strip)
        return known

    @staticmethod
    def _intern(items: list[Any], numbers: dict[Any, int], item: Any) -> int:
        number = numbers.setdefault(item, len(items))
        if number == len(items):
            items.append(item)
        return number

    def _inner(self, backend: str, looked: list[Looked]) -> tuple[list[list[int]], list[list[int]]]:
        counts = (len(SHAPES[self.kind(backend).id]), len(SINKS), len(self.flashinfer))
        pairs = [
            number_values(self._vectors(looked, axis, backend), count)
            for axis, count in zip(INNER, counts, strict=True)
        ]
        return [classes for classes, _ in pairs], [first for _, first in pairs]

    def _facts_at(self, backend: str, release: str, kv: str, at: tuple[int, ...]) -> Configuration:
        sm, shape, sink, fi = at
        return self.facts(
            release,
            backend,
            self.sms[sm],
            kv,
            SHAPES[self.kind(backend).id][shape],
            sink=SINKS[sink],
            fi=self.flashinfer[fi],
        )

    def _ask_early(self, backend: str, release: str, kv: str, at: tuple[int, ...]) -> tuple[int, bool | None]:
        """Ask as `_ask`, where a refusal is likely: the same checks refuse many configurations."""
        facts = self._facts_at(backend, release, kv, at)
        engine = self.resolver.engine(self.engine_name, release)
        judgement = engine.judge(backend, facts)
        # The same checks refuse, and no rule before the selector is in play: the answer is the one already had.
        look = self.view(release).walker.look
        alike = (
            (backend, *[(check.code, check.words, look(check).number) for check in judgement.checks])
            if judgement.checks
            and not self._early_rules(release, facts)
            and not engine.program(backend).unasked.test(facts)
            else None
        )
        if alike in self._refused_alike:
            return self._refused_alike[alike], False
        number, accepts = self._ask(backend, release, facts)
        if alike is not None:
            self._refused_alike[alike] = number
        return number, accepts

    def _ask(self, backend: str, release: str, facts: Configuration) -> tuple[int, bool | None]:
        cell, accepts = self._cell(self._narrowed(backend, release), facts, release)
        return self._intern(self.cells, self._cell_numbers, cell), accepts

    def _cell(self, resolver: Resolver, facts: Configuration, release: str) -> tuple[Cell, bool | None]:
        verdict = resolver.judge(Normalised(facts=facts, release=release, answered_as=None, assumed=()))
        program = self.resolver.engine(self.engine_name, release).program(str(facts.backend))
        cell = Cell(
            verdict.verdict,
            verdict.engine_accepts,
            verdict.route.id if verdict.route else None,
            verdict.fails_at,
            tuple([self.reasons.number(finding, program, facts) for finding in verdict.findings]),
            verdict.missing,
            without_values(verdict.untested),
        )
        goes_on = any(finding.code == NOT_ASKED for finding in verdict.findings)
        return cell, None if goes_on else verdict.engine_accepts

    def _narrowed(self, backend: str, release: str) -> Narrowed:
        known = self._narrow.get((backend, release))
        if known is None:
            known = self._narrow[backend, release] = Narrowed(self.resolver, self._runs[backend][release].rules)
        return known

    def _early_rules(self, release: str, facts: Configuration) -> bool:
        rules = self._runs[str(facts.backend)][release].rules
        return any(rule.holds(facts) is not False for rule in rules if rule.rule.bites == "config")
