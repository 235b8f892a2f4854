"""Which JIT modules the cells need, which are built, and which one to build next."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from compatcheck.smoke.cell import SmokeCell
from compatcheck.smoke.kernels.base import SmokeKernel
from compatcheck.smoke.outcome import Result

State = Literal["waiting", "building", "built", "failed"]


class Module:
    """One module: the first cell that needs it stands for all. `failure` is what its build ended with."""

    def __init__(self, key: str, cell: SmokeCell, dear: bool) -> None:
        self.key = key
        self.cell = cell
        self.dear = dear
        self.state: State = "waiting"
        self.seconds = 0.0
        self.failure: Result | None = None


class ModuleTable:
    """Modules in the order in which cells need them. Guarded by the runner's lock."""

    def __init__(self, cells: Sequence[SmokeCell], kernels: dict[str, SmokeKernel], dear_at_once: int) -> None:
        self._dear_at_once = max(dear_at_once, 1)
        self.modules: dict[str, Module] = {}
        self.needs: dict[str, tuple[str, ...]] = {}
        for cell in cells:
            kernel = kernels[cell.driver]
            # A refusal may come before any build, and a build that is never asked for may fail in other words.
            keys = () if cell.expected.kind in ("absent", "refused") else kernel.modules(cell)
            self.needs[cell.id] = keys
            for key in keys:
                if key not in self.modules:
                    self.modules[key] = Module(key, cell, kernel.dear(cell))

    def next(self) -> Module | None:
        """Return the next module to build and mark it, or None where none may be started now."""
        dear = sum(m.dear for m in self.modules.values() if m.state == "building")
        for module in self.modules.values():
            if module.state == "waiting" and not (module.dear and dear >= self._dear_at_once):
                module.state = "building"
                return module
        return None

    def settled(self, cell: SmokeCell) -> bool:
        """Return whether every module of a cell is built or has failed."""
        return all(self.modules[key].state in ("built", "failed") for key in self.needs[cell.id])

    def failure(self, cell: SmokeCell) -> Module | None:
        """Return the first failed module of a cell."""
        return next((m for k in self.needs[cell.id] if (m := self.modules[k]).state == "failed"), None)

    @property
    def open(self) -> bool:
        """Whether modules still wait to be built."""
        return any(m.state == "waiting" for m in self.modules.values())

    @property
    def building(self) -> list[str]:
        """Keys being built."""
        return [m.key for m in self.modules.values() if m.state == "building"]
