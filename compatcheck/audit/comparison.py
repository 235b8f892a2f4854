"""What is compared of a vLLM release and the matrix, and the differences found so far."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from compatcheck.audit.difference import Difference, NotUnderstood
from compatcheck.audit.reading.axes import domains
from compatcheck.matrix.versions import parse

if TYPE_CHECKING:
    from compatcheck.audit.messages import Wheel
    from compatcheck.audit.reading.explore import Gate
    from compatcheck.audit.vllm_reading import VllmReading
    from compatcheck.matrix.load import LoadedMatrix

ENGINE = "vllm"


class Comparison:
    """One release as it was read, and the matrix as the resolver answers for it."""

    def __init__(self, loaded: LoadedMatrix, wheel: Wheel, read: VllmReading, flashinfer: str | None) -> None:
        self.loaded = loaded
        self.wheel = wheel
        self.read = read
        self.version = parse(wheel.version).public
        self.engine = loaded.matrix.engines[ENGINE]
        self.program = loaded.resolver.engine(ENGINE, self.version)
        self.domains = domains(loaded.matrix.sms, read.kv_cache_dtypes or self.program.kv_cache_dtypes)
        release = self.engine.releases.get(self.version)
        self.facts: dict[str, Any] = {  # what every question is asked with
            "engine": ENGINE,
            "engine_version": self.version,
            "flashinfer_version": flashinfer or (release.flashinfer if release else None),
            "torch_version": release.torch if release else None,
            "cuda_version": "13.0",
        }
        self.differences: list[Difference] = []
        self.not_understood: list[NotUnderstood] = []
        self.compared = 0
        """Answers that were compared."""

    def add(self, **fields: Any) -> None:
        """Note a difference; the fields are those of `Difference`."""
        self.differences.append(Difference(**fields))

    def strange(self, subject: str, gates: list[Gate], digest: str = "") -> None:
        """Note expressions that were not understood."""
        for gate in gates:
            self.not_understood.append(
                NotUnderstood(
                    subject=subject,
                    aspect="",
                    place=f"{gate.file}:{gate.line}",
                    expression=gate.text,
                    why=gate.why,
                    digest=digest or gate.text,
                )
            )

    def has(self, since: str | None, until: str | None) -> bool:
        """Return whether the release lies in a range."""
        at = parse(self.version)
        return parse(since or "0") <= at and (until is None or at < parse(until))


def names(items: Any) -> str:
    """Return names, or the names of pairs, as one text."""
    return ", ".join(str(item[0]) if isinstance(item, tuple) else str(item) for item in items or ())
