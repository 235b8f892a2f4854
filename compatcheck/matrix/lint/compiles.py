"""Build: every release of every engine, every rule and every kernel compiles to the program that will be asked.

The last word, after the rules that know the place: what passes lint cannot fail in `check`. Asked only of a matrix that
is otherwise well-formed, since its words have no line of their own.
"""

from __future__ import annotations

import msgspec

from compatcheck.matrix.errors import Problem
from compatcheck.matrix.lint.context import Context
from compatcheck.matrix.model import Matrix
from compatcheck.resolve.engine import EngineProgram
from compatcheck.resolve.kernel import KernelProgram
from compatcheck.resolve.linear import LinearProgram
from compatcheck.resolve.rules import RuleProgram

CODE = "build"


def check(context: Context) -> list[Problem]:
    """Return what does not compile; nothing where the structure is already wrong."""
    try:
        matrix = msgspec.convert(context.value, Matrix)
    except msgspec.ValidationError:
        return []
    problems: list[Problem] = []
    for name, engine in matrix.engines.items():
        for release in engine.releases:
            try:
                program = EngineProgram(matrix, engine, release)
                for backend in engine.backends:
                    program.program(backend)
                for backend in engine.mla_prefill_backends:
                    program.prefill_program(backend)
                if engine.linear is not None:
                    LinearProgram(engine.linear, release, program.compiler)
                for code, rule in matrix.rules.items():
                    RuleProgram(code, rule, program.compiler)
            except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
                where = ("engines", name, "releases", release)
                message = f"{name} {release} does not compile: {type(error).__name__}: {error}"
                problems.append(context.problem(where, CODE, message))
                break
    for id_, kernel in matrix.kernels.items():
        try:
            KernelProgram(id_, kernel, matrix.sms)
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            message = f"does not compile: {type(error).__name__}: {error}"
            problems.append(context.problem(("kernels", id_), CODE, message))
    return problems
