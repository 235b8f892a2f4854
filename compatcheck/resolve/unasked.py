"""Models that make layers of a backend by themselves and do not ask the selector: what of its refusals is left."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from compatcheck.resolve.backend import BackendProgram, Check
    from compatcheck.resolve.judgement import Judgement


def left_unanswered(program: BackendProgram, judgement: Judgement, facts: Any) -> list[Check] | None:
    """Return the refusals that the model has no answer of its own for; None where the selector is asked.

    Those stay: what neither the backend's class nor the model offers is not there.
    """
    if judgement.accepted is not False or not judgement.refusals or program.unasked.test(facts) is not True:
        return None
    return [said.check for said in judgement.refusals if said.check.code not in program.answered_by_model]
