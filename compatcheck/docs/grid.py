"""Every cell of the tables: the answers of all backends, numbered once over all of them."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from compatcheck.docs.asking import Asking
from compatcheck.docs.axes import SHAPES
from compatcheck.docs.reasons import Reasons
from compatcheck.docs.sheets import INNER, Answers, Block, Cell, Featured, Part, Sheet, Strip
from compatcheck.docs.space import Space
from compatcheck.resolve.normalise import Normalised

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from compatcheck.docs.workers import Workers
    from compatcheck.matrix.load import LoadedMatrix
    from compatcheck.resolve.configuration import Configuration
    from compatcheck.resolve.verdict import Verdict


class Grid(Space):
    """The answers for one engine; blocks are made when first asked for, and what they hold is numbered then."""

    def __init__(self, loaded: LoadedMatrix, engine_name: str = "vllm") -> None:
        super().__init__(loaded, engine_name)
        self.cells: list[Cell] = []
        self.sheets: list[Sheet] = []
        self.strips: list[Strip] = []
        self.reasons = Reasons(self.matrix.rules, self.loaded.placed)
        self.feature_reasons = Reasons(self.matrix.rules, self.loaded.placed)
        """The reasons of features' cells, which are asked for apart."""
        self._kv_sets = {release: frozenset(self.kv_of(release)) for release in self.releases}
        self._numbers_of: dict[Any, int] = {}
        self._answers: dict[str, Answers] = {}
        self._whole: Callable[[str], Answers] | None = None
        self._placed: dict[tuple[str, str, int], int] = {}
        self._blocks: dict[tuple[str, str], Block] = {}
        self._block_of: dict[tuple[str, Part], Block] = {}
        self._rows: dict[tuple[int, str, int], tuple[int, ...]] = {}

    @contextmanager
    def answering(self, workers: Workers[Space]) -> Iterator[None]:
        """Within it, answers of backends not yet asked come in whole: kept ones, and the others on all cores."""
        from compatcheck.docs.answering import Answering

        with Answering(self, workers) as source:
            self._whole = source.of
            try:
                yield
            finally:
                self._whole = None

    # --------------------------------------------------------------------------------------- asking

    def cell(
        self, release: str, backend: str, sm: str, kv: str, shape: str, *, sink: bool = False, fi: str | None = None
    ) -> Cell:
        """Return a cell; without a FlashInfer version, with the one that the release pins."""
        return self.cells[self.number(release, backend, sm, kv, shape, sink=sink, fi=fi)]

    def number(
        self, release: str, backend: str, sm: str, kv: str, shape: str, *, sink: bool = False, fi: str | None = None
    ) -> int:
        """Return the number of a cell in `cells`. Raises `KeyError` where the release does not accept the dtype."""
        strip = self.strips[self._strip(release, backend, sm, kv)]
        version = fi or self.engine.releases[release].flashinfer
        return strip.at((self.at[self.kind(backend).id, shape], int(sink), self.at["fi", version]))

    def row(self, release: str, backend: str, sm: str, kv: str, fi: str | None = None) -> tuple[int, ...]:
        """Return the numbers of the cells of every shape of the backend's kind, without sinks, as `number` does."""
        number, kind = self._strip(release, backend, sm, kv), self.kind(backend).id
        at = self.at["fi", fi or self.engine.releases[release].flashinfer]
        known = self._rows.get((number, kind, at))
        if known is None:
            strip = self.strips[number]
            cells = tuple([strip.at((shape, 0, at)) for shape in range(len(SHAPES[kind]))])
            known = self._rows[number, kind, at] = cells
        return known

    def strips_on(self, release: str, backend: str, sm: str) -> tuple[int, ...]:
        """Return the strips of a backend on an SM, one for each KV-cache dtype: equal ones have equal rows."""
        return tuple([self._strip(release, backend, sm, kv) for kv in self.kv_of(release)])

    def _strip(self, release: str, backend: str, sm: str, kv: str) -> int:
        sheet = self.block(release, backend).kv[self.at["kv", kv]]
        if sheet is None or kv not in self._kv_sets[release]:
            raise KeyError(f"{self.engine.title} {release} does not accept --kv-cache-dtype {kv}")
        return self.sheets[sheet].strips[self.at["sm", sm]]

    def differing_sms(self, old: str, new: str, backend: str, kv: str) -> list[str]:
        """Return the SMs on which two releases may say something else of a backend and a KV-cache dtype."""
        at = self.at["kv", kv]
        one, other = self.block(old, backend).kv[at], self.block(new, backend).kv[at]
        if one is None or other is None:
            return self.sms
        fi = INNER.index("fi")
        was, now = [self.at["fi", self.engine.releases[release].flashinfer] for release in (old, new)]
        found: list[str] = []
        for sm, before, after in zip(self.sms, self.sheets[one].strips, self.sheets[other].strips, strict=True):
            classes = self.strips[before].classes[fi]
            if before != after or classes[was] != classes[now]:
                found.append(sm)
        return found

    def featured(self, backend: str, sm: str) -> Featured | None:
        """Return what a backend says of features under the newest release; None where nothing runs on the SM.

        The cells' reasons are numbers in `feature_reasons`.
        """
        answers = self._answers_of(backend)
        found = answers.featured(sm)
        if found is None:
            return None
        reasons = {n: self.feature_reasons.add(answers.reasons[n]) for n in {n for c in found.cells for n in c.reasons}}
        cells = [cell._replace(reasons=tuple([reasons[n] for n in cell.reasons])) for cell in found.cells]
        return Featured(found.kv, found.shape, tuple(cells))

    def judge(self, facts: Configuration, release: str) -> Verdict:
        """Return the resolver's verdict for complete facts."""
        return self.resolver.judge(Normalised(facts=facts, release=release, answered_as=None, assumed=()))

    # ------------------------------------------------------------------------------------- numbering

    def number_everything(self) -> None:
        """Give every cell its number: from here on it does not matter in which order they are asked for."""
        for release in (self.newest, *self.releases):
            for backend in self.backends(release):
                self.block(release, backend)

    def block(self, release: str, backend: str) -> Block:
        """Return a backend's block at a release; releases of one run share it."""
        known = self._blocks.get((backend, release))
        if known is None:
            answers = self._answers_of(backend)
            part = answers.part(release)
            known = self._block_of.get((backend, part))
            if known is None:
                known = self._block_of[backend, part] = self._place(backend, answers, part)
            self._blocks[backend, release] = known
        return known

    def _answers_of(self, backend: str) -> Answers:
        answers = self._answers.get(backend)
        if answers is None:
            answers = self._answers[backend] = self._whole(backend) if self._whole else Asking(self, backend)
        return answers

    def _place(self, backend: str, answers: Answers, part: Part) -> Block:
        """Number what a block holds over all backends: cells in the order in which they were asked for."""
        for number in part.asked:
            self._cell(backend, answers, number)
        return Block(tuple([None if number is None else self._sheet(backend, answers, number) for number in part.kv]))

    def _cell(self, backend: str, answers: Answers, number: int) -> int:
        known = self._placed.get(("cell", backend, number))
        if known is None:
            cell = self._with_reasons(backend, answers, answers.cells[number])
            known = self._placed["cell", backend, number] = self._intern(self.cells, cell)
        return known

    def _with_reasons(self, backend: str, answers: Answers, cell: Cell) -> Cell:
        """Return a backend's own cell with the numbers that its reasons have over all backends."""
        return cell._replace(reasons=tuple([self._reason(backend, answers, number) for number in cell.reasons]))

    def _reason(self, backend: str, answers: Answers, number: int) -> int:
        known = self._placed.get(("reason", backend, number))
        if known is None:
            known = self._placed["reason", backend, number] = self.reasons.add(answers.reasons[number])
        return known

    def _sheet(self, backend: str, answers: Answers, number: int) -> int:
        known = self._placed.get(("sheet", backend, number))
        if known is None:
            strips = tuple([self._strip_in(backend, answers, n) for n in answers.sheets[number].strips])
            known = self._placed["sheet", backend, number] = self._intern(self.sheets, Sheet(strips))
        return known

    def _strip_in(self, backend: str, answers: Answers, number: int) -> int:
        known = self._placed.get(("strip", backend, number))
        if known is None:
            own = answers.strips[number]
            strip = Strip(own.classes, own.sizes, tuple([self._cell(backend, answers, n) for n in own.cells]))
            known = self._placed["strip", backend, number] = self._intern(self.strips, strip)
        return known

    def _intern(self, items: list[Any], item: Any) -> int:
        number = self._numbers_of.setdefault(item, len(items))
        if number == len(items):
            items.append(item)
        return number
