"""The MLA prefill backends that a release has, and what each says of itself, against the matrix."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compatcheck.audit.compare_gates import GateComparer, checks_of

if TYPE_CHECKING:
    from compatcheck.audit.comparison import Comparison


def compare_prefill(run: Comparison) -> None:
    """Compare which there are, and every check of each."""
    read = run.read.prefill
    if read is None:
        return
    codes = {check.check: check.code for check in run.engine.prefill_selector}
    for name in {*read, *run.program.prefill_backends}:
        said, library = name in run.program.prefill_backends, name in read
        if said != library:
            words = {True: "has it", False: "does not have it"}
            kind = "new-backend" if library else "removed-backend"
            run.add(kind=kind, subject=name, aspect="MLA prefill", matrix=words[said], library=words[library])
            continue
        program = run.program.prefill_program(name)
        comparer = GateComparer(f"{name} (MLA prefill)", run.facts, run.domains)
        for check, reading in read[name].items():
            found = comparer.compare(check, checks_of(program, codes[check], check), reading, {"use_mla": True})
            run.differences += found.differences
            run.not_understood += found.not_understood
            run.compared += found.answers
