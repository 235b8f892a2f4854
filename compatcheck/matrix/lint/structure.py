"""Structure: every key is one that the model knows, every value of its type, nothing required is missing.

Why: a misspelt key is a fact that is silently not stated. All errors at once, each with the nearest known name.
"""

from __future__ import annotations

from compatcheck.matrix.errors import Problem
from compatcheck.matrix.lint.context import Context
from compatcheck.matrix.model import Matrix
from compatcheck.matrix.validate import mismatches

CODE = "structure"


def check(context: Context) -> list[Problem]:
    """Return where the document differs from the model; what the YAML reader refused already is not said twice."""
    if not context.value:
        return [
            context.problem((), "empty", "nothing is stated here; a matrix has at least `schema: 1` and its sections")
        ]
    broken = context.document.broken
    return [
        context.problem(wrong.path, wrong.code, wrong.message)
        for wrong in mismatches(context.value, Matrix)
        if not any(wrong.path[: len(path)] == path for path in broken)
    ]
