"""A whole route: write, prefill, several decode turns over the same pages, then a mixed batch."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec

from compatcheck.smoke.kernels.base import Check, DriverGapError, Launch, SmokeKernel
from compatcheck.smoke.kernels.turns import Conversation

if TYPE_CHECKING:
    from compatcheck.smoke.cell import SmokeCell

_TURNS = 4


class EngineRoute(SmokeKernel):
    """Writer, prefill and decode kernels of one route, called in turn as an engine calls them."""

    name = "engine-route"
    ids = ("route", "route.*")

    def modules(self, cell: SmokeCell) -> tuple[str, ...]:
        """Whatever its kernels need."""
        return tuple(dict.fromkeys(m for kernel, part in self._parts(cell) for m in kernel.modules(part)))

    def dear(self, cell: SmokeCell) -> bool:
        """As dear as its dearest kernel."""
        return any(kernel.dear(part) for kernel, part in self._parts(cell))

    def build(self, module: str, cell: SmokeCell) -> None:
        """Build the module through the kernel that owns it."""
        for kernel, part in self._parts(cell):
            if module in kernel.modules(part):
                kernel.build(module, part)
                return

    @staticmethod
    def _parts(cell: SmokeCell) -> list[tuple[SmokeKernel, SmokeCell]]:
        from compatcheck.smoke.kernels import KERNELS

        parts = []
        for id_ in cell.route:
            kernel = next((k for k in KERNELS if k.serves(id_)), None)
            if kernel is not None:
                parts.append((kernel, msgspec.structs.replace(cell, kernel=id_)))
        return parts

    def prepare(self, cell: SmokeCell, device: str) -> Launch:
        """Each turn's output and the cache's content are checked after all turns have run."""
        talk = Conversation(cell, device)
        steps: list[tuple[str, Any]] = []

        def call() -> None:
            steps.clear()
            talk.reset()
            steps.append(("prefill", talk.prefill()))
            steps.extend((f"decode{turn}", talk.decode()) for turn in range(_TURNS))
            steps.append(("mixed", talk.mixed()))

        # References need the cache as it was written, so they are made by a first pass.
        call()
        if not steps:
            raise DriverGapError("the route has no step")
        wants = dict(talk.wants)

        def got(name: str) -> Any:
            return dict(steps)[name].float()

        checks = [Check(name, partial(got, name), want) for name, want in wants.items()]
        return Launch(call, steps.clear, checks, capturable=False, notes={"kernels": list(cell.route)})
