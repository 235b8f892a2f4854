"""What is said of NVFP4 linear layers: per release, way to ask, scheme, SM and FlashInfer version, by the resolver."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import msgspec

from compatcheck.docs.dependence import Dependence
from compatcheck.docs.kept import keep, recall
from compatcheck.docs.linear_asking import LinearAsking
from compatcheck.docs.linear_asks import BATCH_INVARIANT, ENGINE, Ask
from compatcheck.docs.linear_sheets import LinearAnswers, LinearCell, Sheet, sheet_name

if TYPE_CHECKING:
    from compatcheck.docs.space import Space
    from compatcheck.docs.workers import Workers
    from compatcheck.matrix.linear_model import Linear


def _ask_everything(space: Space, _: str) -> bytes:
    """Return every sheet of a space's engine."""
    linear = space.engine.linear
    assert linear is not None
    grid = LinearGrid(space, linear)
    grid.number_everything()
    return msgspec.msgpack.encode(grid.answers())


class LinearGrid(LinearAsking):
    """The answers for one engine's linear layers; sheets are taken from where they are kept, or made when asked for."""

    def __init__(self, space: Space, linear: Linear) -> None:
        super().__init__(space, linear)
        self._sheets: dict[tuple[int, str, str], Sheet] = {}
        self._kept: LinearAnswers | None = None
        self._place_of: dict[int, int] = {}
        """Of each kept cell, the number that it has here."""
        self._least = 0
        self._workers: Workers[Space] | None = None
        self._coming: int | None = None
        self._digest = ""

    # ---------------------------------------------------------------------------------------- looking up

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

    @cached_property
    def columns(self) -> list[list[str]]:
        """The SMs of which the same is said, together, whatever is asked without sizes."""
        sheets = [self.sheet(r, scheme, ask) for r in self.releases for ask in self.asks(r) for scheme in self.schemes]
        found: dict[tuple[tuple[int, ...], ...], list[str]] = {}
        for sm, place in zip(self.sms, self.sm_classes, strict=True):
            found.setdefault(tuple([sheet.strips[place] for sheet in sheets]), []).append(sm)
        return list(found.values())

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
        sheets = {sheet_name(key): sheet for key, sheet in self._sheets.items()}
        return LinearAnswers(self._digest, reasons, self.cells, sheets)

    def _recalled(self, key: tuple[int, str, str]) -> Sheet | None:
        """Return a sheet that is kept, or was asked elsewhere, with its cells numbered as they are met here."""
        if self._workers is not None and self._coming is not None:
            came, self._coming = self._workers.result(self._coming), None
            self._kept = None if came is None else msgspec.msgpack.decode(came, type=LinearAnswers)
        sheet = self._kept.sheets.get(sheet_name(key)) if self._kept is not None else None
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
