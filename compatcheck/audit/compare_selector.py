"""The questions that a release's selector asks of a backend, and their order, against the matrix."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compatcheck.audit.comparison import names
from compatcheck.audit.reading.explore import Gate

if TYPE_CHECKING:
    from compatcheck.audit.comparison import Comparison


def compare_selector(run: Comparison) -> None:
    """Compare the clauses of the selector."""
    matrix = [
        check
        for check in run.engine.selector
        if check.check not in ("imports", "joint_rules") and run.has(check.since, check.until)
    ]
    library = [clause for clause in run.read.clauses if clause.check != "joint_rules"]
    for clause in library:
        if clause.check is None:
            gate = Gate(
                file=clause.file,
                line=clause.line,
                text=clause.text,
                why="a clause of the selector that is not known",
            )
            run.strange("selector", [gate])
    known = [(clause.check, clause.words) for clause in library if clause.check is not None]
    said = [(check.check, check.words) for check in matrix]
    run.compared += len(said)
    if known != said and run.read.clauses:
        for check, words in known:
            if (check, words) not in said:
                run.add(
                    kind="selector",
                    subject=str(check),
                    matrix="does not ask it, or says other words",
                    library=f"refuses: {words}",
                )
        for check, words in said:
            if (check, words) not in known:
                run.add(
                    kind="selector",
                    subject=check,
                    matrix=f"refuses: {words}",
                    library="does not ask it, or says other words",
                )
        if sorted(map(str, known)) == sorted(map(str, said)):
            run.add(kind="selector", subject="order", matrix=names(said), library=names(known))
