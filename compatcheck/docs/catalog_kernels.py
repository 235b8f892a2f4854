"""The gates of linear kernels and the refusals of library kernels, as entries of the catalogue."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compatcheck.docs.catalog_entry import Entry, add
from compatcheck.resolve.describe import describe_condition
from compatcheck.resolve.findings import default_fix

if TYPE_CHECKING:
    from compatcheck.matrix.model import Engine, Matrix


def add_gates(engine: Engine, found: dict[str, Entry]) -> None:
    """Add the gates of linear kernels; one code may stand on several kernels."""
    kernels = engine.linear.kernels if engine.linear is not None else {}
    for name, kernel in kernels.items():
        for gate in kernel.gates:
            entry = found.get(gate.code)
            if entry is None:
                entry = found[gate.code] = Entry(
                    code=gate.code,
                    title=f"A linear kernel is passed over: {gate.words}",
                    kind="gate",
                    refuser="engine",
                    bites="selection",
                    effect="unsupported",
                    why=gate.why or "The engine asks each kernel of its order whether it can run; this one says no.",
                    fix=gate.fix or "Nothing to do unless the kernel was asked for: the next of the order is taken.",
                    linear=True,
                )
            since = f" >={gate.since}" if gate.since else ""
            until = f" <{gate.until}" if gate.until else ""
            add(entry.words, gate.words)
            add(entry.when, f"{engine.title}{since}{until}: {describe_condition(gate.when)}")
            add(entry.conditions, gate.when)
            for one in [name, *(n for n, k in kernels.items() if k.extends == name)]:
                add(entry.kernels, one)
            for source in gate.sources or kernel.sources:
                add(entry.sources, source)


def add_refusals(matrix: Matrix, found: dict[str, Entry]) -> None:
    """Add what libraries refuse, kernel by kernel; one code may stand on several kernels."""
    for name, kernel in matrix.kernels.items():
        for refusal in kernel.refusals:
            entry = found.get(refusal.code)
            if entry is None:
                compile_error = refusal.outcome == "compile-error"
                entry = found[refusal.code] = Entry(
                    code=refusal.code,
                    title=f"{kernel.title}: {'does not compile' if compile_error else 'refused by the library'}",
                    kind="library",
                    refuser="library",
                    bites=refusal.bites,
                    effect="unsupported",
                    why=refusal.why,
                    fix=refusal.fix or default_fix(kernel),
                    exception=refusal.exception,
                    linear=kernel.phase == "gemm",
                )
            add(entry.kernels, name)
            add(entry.words, f"/{refusal.match}/")
            add(entry.when, describe_condition(refusal.when))
            add(entry.conditions, refusal.when)
            if refusal.versions:
                add(entry.versions, f"{_library(matrix, kernel.library)} {refusal.versions}")
            for source in refusal.sources or kernel.sources:
                add(entry.sources, source)


def _library(matrix: Matrix, name: str) -> str:
    library = matrix.libraries.get(name)
    return library.title if library else name
