"""What every page can use: the grid, the codes with their pages, the evidence."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from compatcheck.docs.catalog import Entry, catalog
from compatcheck.docs.evidence import Proof, read_all
from compatcheck.docs.grid import Grid
from compatcheck.docs.linear_grid import LinearGrid
from compatcheck.docs.states import States

if TYPE_CHECKING:
    from compatcheck.matrix.load import LoadedMatrix
    from compatcheck.matrix.model import Engine, Matrix


class Site:
    """The facts behind the pages. `output` is where evidence files lie, in `evidence/`."""

    def __init__(self, loaded: LoadedMatrix, output: Path, engine_name: str = "vllm") -> None:
        self.loaded = loaded
        self.matrix: Matrix = loaded.matrix
        self.engine: Engine = loaded.matrix.engines[engine_name]
        self.engine_name = engine_name
        self.output = output
        self.grid = Grid(loaded, engine_name)
        self.states = States(self.grid)

    @cached_property
    def catalog(self) -> dict[str, Entry]:
        """Every code that a finding can carry."""
        return catalog(self.matrix, self.engine_name)

    @cached_property
    def linear(self) -> LinearGrid | None:
        """The answers about linear layers, where the matrix has any."""
        linear = self.engine.linear
        return None if linear is None else LinearGrid(self.loaded, linear, self.engine_name)

    @cached_property
    def evidence(self) -> list[Proof]:
        """The published evidence files, by name."""
        return read_all(self.output / "evidence")

    def kernel_proof(self, kernel: str) -> list[str]:
        """Return what live runs said of a kernel, such as 'H200 (SM 9.0), FlashInfer 0.7.4: 12 confirmed'."""
        return [said for proof in self.evidence for said in proof.of_kernel(kernel)]

    def families(self) -> dict[str, list[str]]:
        """Return the SM families with their members, in the matrix's order."""
        found: dict[str, list[str]] = {}
        for sm, entry in self.matrix.sms.items():
            found.setdefault(entry.family, []).append(sm)
        return found
