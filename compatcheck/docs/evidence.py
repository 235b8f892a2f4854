"""Published evidence files, for the pages: which runs there are and what they prove of a kernel."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from compatcheck.docs.environment import DocsError

if TYPE_CHECKING:
    from compatcheck.smoke.evidence import Evidence


class Proof(msgspec.Struct, kw_only=True):
    """One evidence file. `counts` are cells by judgement: confirmed, contradicted, unproven."""

    file: str
    evidence: Evidence
    counts: dict[str, int]

    @property
    def where(self) -> str:
        """The GPU and the library of the run."""
        print_ = self.evidence.fingerprint
        gpu = f"{print_.gpu} (SM {print_.sm})" if print_.gpu else f"no GPU, compiled for SM {print_.sm}"
        return f"{gpu}, FlashInfer {print_.flashinfer}" if print_.flashinfer else gpu

    def of_kernel(self, kernel: str) -> list[str]:
        """Return what this run says of a kernel, as a line, or nothing."""
        counts = Counter(cell.judgement for cell in self.evidence.cells if _kernel(cell.id, kernel))
        if not counts:
            return []
        return [f"{self.where}: " + ", ".join(f"{number} {name}" for name, number in sorted(counts.items()))]

    def outcomes(self, kernel: str) -> list[str]:
        """Return what the GPU did with a kernel and how that stands to the matrix, as a line, or nothing."""
        counts = Counter((cell.outcome, cell.judgement) for cell in self.evidence.cells if _kernel(cell.id, kernel))
        if not counts:
            return []
        return [f"{self.where}: " + ", ".join(f"{n} {did} ({stands})" for (did, stands), n in sorted(counts.items()))]


def _kernel(cell: str, kernel: str) -> bool:
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
