"""What every page can use: the grid, the codes with their pages, the evidence."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from compatcheck.docs.catalog import catalog
from compatcheck.docs.catalog_entry import Entry
from compatcheck.docs.evidence import Proof, read_all
from compatcheck.docs.grid import Grid
from compatcheck.docs.linear_grid import LinearGrid
from compatcheck.docs.lines import Shown
from compatcheck.docs.states import States
from compatcheck.resolve.kernel import KERNEL_DTYPES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from compatcheck.matrix.load import LoadedMatrix
    from compatcheck.matrix.model import Engine, Matrix


class Site:
    """The facts behind the pages. `output` is where evidence files lie, in `evidence/`."""

    def __init__(self, loaded: LoadedMatrix, output: Path, engine_name: str = "vllm") -> None:
        loaded = Shown(loaded, output)
        self.loaded = loaded
        self.named = [name for name in loaded.files() if name not in loaded.matrix.include]
        """The matrix and its overlays, without the matrix's parts."""
        self.matrix: Matrix = loaded.matrix
        self.engine: Engine = loaded.matrix.engines[engine_name]
        self.engine_name = engine_name
        self.output = output
        self.grid = Grid(loaded, engine_name)
        self.states = States(self.grid)

    def number_everything(self) -> None:
        """Make what pages share, and give every cell its number: it does not matter afterwards which is made first."""
        _ = self.catalog, self.evidence
        self.grid.number_everything()
        if self.linear is not None:
            self.linear.number_everything()

    @cached_property
    def catalog(self) -> dict[str, Entry]:
        """Every code that a finding can carry."""
        return catalog(self.matrix, self.engine_name)

    @cached_property
    def linear(self) -> LinearGrid | None:
        """The answers about linear layers, where the matrix has any."""
        linear = self.engine.linear
        return None if linear is None else LinearGrid(self.grid, linear)

    @cached_property
    def evidence(self) -> list[Proof]:
        """The published evidence files, by name."""
        return read_all(self.output / "evidence")

    def kernel_proof(self, kernel: str) -> list[str]:
        """Return what live runs said of a kernel, such as 'H200 (SM 9.0), FlashInfer 0.7.4: 12 right, 1 unproven'."""
        return [said for proof in self.evidence for said in proof.of_kernel(kernel)]

    def code_proof(self, code: str) -> list[str]:
        """Return what live runs said of a refusal or an advisory."""
        return [said for proof in self.evidence for said in proof.of_code(code)]

    def route_proof(self, route: str, sms: Sequence[str], dtype: str, kvs: Sequence[str]) -> list[str]:
        """Return which phases of a route ran right on these SMs, and with which of these KV-cache dtypes.

        `dtype` is the model's. Runs with the FlashInfer of the newest release stand first, without its version; other
        runs only add what those did not prove.
        """
        entry = self.engine.routes[route]
        query = entry.query_dtype or dtype
        wanted = list(dict.fromkeys(dtype if kv == "auto" else KERNEL_DTYPES.get(kv, kv) for kv in kvs))
        phases = {"write": entry.kv_write, "prefill": entry.prefill, "decode": entry.decode, "whole": f"route.{route}"}
        pinned = self.engine.releases[self.grid.newest].flashinfer
        lines: list[str] = []
        proved: set[tuple[str, str]] = set()
        for proof in sorted(self.evidence, key=lambda p: p.evidence.fingerprint.flashinfer != pinned):
            version = proof.evidence.fingerprint.flashinfer
            ran = {
                name: proof.ran_right(id_, sms, query if name in ("prefill", "decode") else dtype, wanted)
                for name, id_ in phases.items()
                if id_
            }
            new = {name: [kv for kv in wanted if kv in ran[name] and (name, kv) not in proved] for name in ran}
            proved |= {(name, kv) for name, kvs_ in new.items() for kv in kvs_}
            if any(new.values()):
                with_ = "" if version in (None, pinned) else f", FlashInfer {version}"
                said = "; ".join(f"{name} {', '.join(kvs_)}" for name, kvs_ in new.items() if kvs_)
                lines.append(f"{proof.gpu}{with_}: {said}")
        return lines

    def families(self) -> dict[str, list[str]]:
        """Return the SM families with their members, in the matrix's order."""
        found: dict[str, list[str]] = {}
        for sm, entry in self.matrix.sms.items():
            found.setdefault(entry.family, []).append(sm)
        return found
