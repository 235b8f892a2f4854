"""SMs: keys are compute capabilities, families fit them, names are sold once, kernels name what exists.

Why: a GPU is found by its marketing name, and one listed under two capabilities would be answered by chance.
"""

from __future__ import annotations

import re

from compatcheck.matrix.errors import Problem
from compatcheck.matrix.lint.conditions import sm_problems
from compatcheck.matrix.lint.context import Context
from compatcheck.matrix.lint.vocabulary import vocabulary_at
from compatcheck.matrix.model import Kernel, Sm
from compatcheck.matrix.sm import family, gpu_key

CODE = "sm"
_KEY = re.compile(r"[0-9]{1,2}\.[0-9]")


def check(context: Context) -> list[Problem]:
    """Return SM entries that are misspelt or ambiguous, and kernels whose SMs do not exist."""
    problems: list[Problem] = []
    sold: dict[str, str] = {}
    for path, sm in context.records(Sm):
        name = str(path[-1])
        if not _KEY.fullmatch(name):
            problems.append(context.problem(path, CODE, f"{name!r} is not a compute capability such as '9.0'"))
        elif sm.family != family(name):
            message = f"the family of {name} is {family(name)}, found {sm.family!r}"
            problems.append(context.problem((*path, "family"), CODE, message))
        for index, gpu in enumerate(sm.gpus):
            other = sold.setdefault(gpu_key(gpu), name)
            if other != name:
                message = f"{gpu!r} is already listed under {other}"
                problems.append(context.problem((*path, "gpus", index), CODE, message))
    for path, kernel in context.records(Kernel):
        here = (*path, "sms")
        found = sm_problems(kernel.sms, vocabulary_at(context, path), here)
        problems += [context.problem(place, CODE, message) for place, message in found]
    return problems
