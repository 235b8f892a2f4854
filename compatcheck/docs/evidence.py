"""Published evidence files, for the pages: which runs there are, what they prove of a kernel, a code, a route."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from compatcheck.docs.environment import DocsError

if TYPE_CHECKING:
    from compatcheck.smoke.evidence import CellEvidence, Evidence

RIGHT = "right"
SAID = {
    RIGHT: "ran, and agreed with the reference",
    "ran, not compared": "ran, at a level that compares nothing",
    "refused as declared": "refused by the library with the exception and the words that the matrix gives",
    "fails to compile as declared": "the compiler refused the kernel, in the words that the matrix gives",
    "wrong as declared": "gave a wrong result, as an advisory of the matrix says",
    "right where others are wrong": "this shape was right, of a configuration that an advisory calls wrong in another",
    "absent as declared": "the library has no such function in this version, as the matrix says",
    "contradicted": "the GPU did otherwise than the matrix says",
    "unproven": "nothing was learnt: an artifact or package was missing, or the matrix does not say what to expect",
}
"""What came of a cell, and what it means. All but the last two are `confirmed` in the evidence file."""


class Proof(msgspec.Struct, kw_only=True, dict=True):
    """One evidence file. `counts` are cells by judgement: confirmed, contradicted, unproven."""

    file: str
    evidence: Evidence
    counts: dict[str, int]

    @property
    def gpu(self) -> str:
        """The GPU of the run, without its maker."""
        return (self.evidence.fingerprint.gpu or "no GPU").removeprefix("NVIDIA ")

    @property
    def where(self) -> str:
        """The GPU and the library of the run."""
        print_ = self.evidence.fingerprint
        gpu = f"{print_.gpu} (SM {print_.sm})" if print_.gpu else f"no GPU, compiled for SM {print_.sm}"
        return f"{gpu}, FlashInfer {print_.flashinfer}" if print_.flashinfer else gpu

    def said(self) -> dict[str, int]:
        """Return how many cells came out in each way of `SAID`."""
        return _counted(self.evidence.cells)

    def of_kernel(self, kernel: str) -> list[str]:
        """Return what this run says of a kernel, as a line, or nothing."""
        return self._line(self._of(kernel))

    def outcomes(self, kernel: str) -> list[str]:
        """Return what the GPU did with a kernel and how that stands to the matrix, as a line, or nothing."""
        counts = Counter((cell.outcome, cell.judgement) for cell in self._of(kernel))
        if not counts:
            return []
        return [f"{self.where}: " + ", ".join(f"{n} {did} ({stands})" for (did, stands), n in sorted(counts.items()))]

    def of_code(self, code: str) -> list[str]:
        """Return what this run says of a refusal or an advisory, as a line, or nothing."""
        return self._line(self._by_code.get(code, ()))

    def ran_right(self, name: str, sms: Collection[str], query: str, kvs: Collection[str]) -> set[str]:
        """Return with which of these KV dtypes a kernel (or `route.ID`) ran right on one of these SMs.

        `query` and `kvs` are dtypes as kernels see them, such as bfloat16 and fp8_e4m3.
        """
        from compatcheck.smoke.cell import SHORT_DTYPE

        asked_with = SHORT_DTYPE.get(query, query)
        right = [self._right(head) for head in self._by_head if _kernel(head, name)]
        ran = {kv for points in right for sm in sms for kv in points.get((sm, asked_with), ())}
        return {kv for kv in kvs if SHORT_DTYPE.get(kv, kv) in ran}

    @cached_property
    def _by_head(self) -> dict[str, list[CellEvidence]]:
        """Cells by what they run, which is what their id begins with."""
        found: dict[str, list[CellEvidence]] = {}
        for cell in self.evidence.cells:
            found.setdefault(cell.id.partition("/")[0], []).append(cell)
        return found

    @cached_property
    def _by_code(self) -> dict[str | None, list[CellEvidence]]:
        found: dict[str | None, list[CellEvidence]] = {}
        for cell in self.evidence.cells:
            found.setdefault(cell.code, []).append(cell)
        return found

    @cached_property
    def _points(self) -> dict[str, dict[tuple[str, str | None], set[str | None]]]:
        return {}

    def _right(self, head: str) -> dict[tuple[str, str | None], set[str | None]]:
        """Return, by SM and query dtype, the KV dtypes with which something ran right, as ids write them."""
        known = self._points.get(head)
        if known is None:
            known = self._points[head] = {}
            for cell in self._by_head[head]:
                if _said(cell) == RIGHT:
                    parts = cell.id.split("/")[1:]
                    asked = dict(part.split("=", 1) for part in parts if "=" in part)
                    for sm in (part[2:] for part in parts if part.startswith("sm")):
                        known.setdefault((sm, asked.get("q")), set()).add(asked.get("kv"))
        return known

    def _of(self, kernel: str) -> list[CellEvidence]:
        return [cell for head, cells in self._by_head.items() if _kernel(head, kernel) for cell in cells]

    def _line(self, cells: Collection[CellEvidence]) -> list[str]:
        if not cells:  # of most codes
            return []
        counts = _counted(cells)
        said = ", ".join(f"{number} {name}" for name, number in counts.items())
        return [f"{self.where}: {said}"] if said else []


def _said(cell: CellEvidence) -> str:
    if cell.judgement != "confirmed":
        return str(cell.judgement)
    if cell.expected in ("wrong", "varies") and cell.outcome != "correct":
        return "refused as declared" if cell.outcome == "refused" else "wrong as declared"
    if cell.expected == "wrong":
        return "right where others are wrong"
    if cell.expected == "refused":
        return "refused as declared"
    if cell.expected == "compile-error":
        return "fails to compile as declared"
    if cell.expected == "absent":
        return "absent as declared"
    return RIGHT if cell.outcome == "correct" else "ran, not compared"


def _counted(cells: Iterable[CellEvidence]) -> dict[str, int]:
    counts = Counter(_said(cell) for cell in cells)
    return {name: counts[name] for name in SAID if counts[name]}


def _kernel(cell: str, kernel: str) -> bool:
    """Return whether a cell, or the part of its id before the first slash, is of a kernel or of a part of it."""
    return cell == kernel or (cell.startswith(kernel) and not (cell[len(kernel)].isalnum() or cell[len(kernel)] == "_"))


def read_all(folder: Path) -> list[Proof]:
    """Return the evidence files of a folder, sorted by name. Raises `DocsError` for one that cannot be used."""
    files = sorted(folder.glob("*.json")) if folder.is_dir() else []
    if not files:
        return []
    from compatcheck.smoke.evidence import EvidenceError, read_evidence

    found: list[Proof] = []
    for path in files:
        try:
            evidence = read_evidence(path)
        except EvidenceError as error:
            raise DocsError(str(error)) from error
        found.append(Proof(file=path.name, evidence=evidence, counts=dict(sorted(evidence.counts().items()))))
    return found
