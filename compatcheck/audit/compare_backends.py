"""The backends that a release has, and what each says of itself, against the matrix."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import msgspec

from compatcheck.audit.compare_gates import GateComparer, checks_of
from compatcheck.audit.difference import Difference, NotUnderstood
from compatcheck.audit.grants import entry
from compatcheck.audit.points import base
from compatcheck.audit.reading.explore import Gate, Reading

if TYPE_CHECKING:
    from compatcheck.audit.comparison import Comparison
    from compatcheck.audit.vllm_reading import BackendReading


def compare_backends(run: Comparison) -> None:
    """Compare which backends there are, and every check of each."""
    library = run.read.backends
    if not library:
        return
    for name, reading in library.items():
        if name in run.program.backends:
            _backend(run, name, reading)
        else:
            place = f"{reading.file}:{reading.line}" if reading.file else reading.cls
            run.add(
                kind="new-backend",
                subject=name,
                matrix="does not have it",
                library=reading.cls,
                place=place,
                values={"cls": reading.cls, "says": _says(reading)},
            )
    for name in run.program.backends:
        if name not in library:
            run.add(
                kind="removed-backend",
                subject=name,
                matrix="has it",
                library="does not have it",
                values={"until": run.version},
            )


def _backend(run: Comparison, name: str, reading: BackendReading) -> None:
    program = run.program.program(name)
    said = program.facts["unimportable"]
    if (reading.unimportable or None) != said:
        run.add(
            kind="gate",
            subject=name,
            aspect="import",
            matrix=said or "imports",
            library=reading.unimportable or "imports",
        )
    run.strange(name, reading.strange)
    if not reading.unimportable:
        _needs_flashinfer(run, name, reading)
        _checks(run, name, reading)


def _needs_flashinfer(run: Comparison, name: str, reading: BackendReading) -> None:
    program = run.program.program(name)
    without = SimpleNamespace(**base(has_flashinfer=False))
    says_so = any(check.imports and check.refuses(without) for check in program.checks)
    run.compared += 1
    if says_so != bool(reading.needs_flashinfer):
        run.add(
            kind="gate",
            subject=name,
            aspect="import",
            where="has_flashinfer false",
            matrix="cannot be imported" if says_so else "imports",
            library=f"imports FlashInfer in {reading.needs_flashinfer}" if reading.needs_flashinfer else "imports",
            place=reading.needs_flashinfer,
        )


def _checks(run: Comparison, name: str, reading: BackendReading) -> None:
    program = run.program.program(name)
    values = {"use_mla": program.facts["mla"], "use_sparse": program.facts["sparse"], "backend": name}
    comparer = GateComparer(name, run.facts, run.domains)
    codes = {check.check: check.code for check in run.engine.selector}
    for check, gate in reading.checks.items():
        if check in ("mla", "sparse"):
            _flag(run, name, check, gate, bool(program.facts[check]))
            continue
        found = comparer.compare(check, checks_of(program, codes.get(check, ""), check), gate, values)
        written = entry(check, gate, run.loaded.matrix.sms, run.domains.get(check, ())) if found.differences else None
        run.differences += [_written(d, written) for d in found.differences]
        run.not_understood += found.not_understood
        run.compared += found.answers
        for outside in gate.outside:
            axis, _, value = outside.partition(" ")
            why = f"compares {axis} with {value}, which the matrix does not have"
            run.not_understood.append(
                NotUnderstood(
                    subject=name,
                    aspect=check,
                    place=f"{gate.file}:{gate.line}",
                    expression=outside,
                    why=why,
                    digest=gate.digest,
                )
            )


def _flag(run: Comparison, name: str, check: str, gate: Reading, said: bool) -> None:
    answers = {path.result for path in gate.paths if path.gate is None and path.raises is None}
    if len(answers) != 1 or any(path.gate for path in gate.paths):
        first = next((p.gate for p in gate.paths if p.gate), None) or Gate(
            file=gate.file, line=gate.line, text=check, why="depends on inputs"
        )
        run.strange(f"{name}.{check}", [first])
        return
    run.compared += 1
    if answers != {said}:
        run.add(
            kind="gate",
            subject=name,
            aspect=check,
            matrix=str(said).lower(),
            library=str(not said).lower(),
            place=f"{gate.file}:{gate.line}",
        )


def _written(found: Difference, entry_: dict[str, Any] | None) -> Difference:
    """Return a difference with the entry that would say what the release says."""
    return found if entry_ is None else msgspec.structs.replace(found, values={**found.values, "entry": entry_})


def _says(reading: BackendReading) -> dict[str, Any]:
    """Return what a backend says without depending on inputs other than the asked one: a start for its entry."""
    said: dict[str, Any] = {}
    for check, gate in reading.checks.items():
        if any(path.gate or path.raises for path in gate.paths):
            continue
        if len(gate.paths) == 1 and not gate.paths[0].given:
            said[check] = gate.paths[0].result
        elif all(set(path.given) <= {check} for path in gate.paths):
            said[check] = [value for path in gate.paths if path.result for value in path.given.get(check, [])]
    return said
