"""Build: every release of every engine, every rule and every kernel compiles to the program that will be asked.

The last word, after the rules that know the place: what passes lint cannot fail in `check`. Asked only of a matrix that
is otherwise well-formed, since its words have no line of their own.
"""

from __future__ import annotations

import msgspec

from compatcheck.matrix.errors import Problem
from compatcheck.matrix.lint.context import Context
from compatcheck.matrix.model import Matrix
from compatcheck.matrix.yaml_reader import Path
from compatcheck.resolve.conditions import CompiledEntries
from compatcheck.resolve.engine import EngineProgram
from compatcheck.resolve.kernel import KernelProgram
from compatcheck.resolve.linear import LinearProgram
from compatcheck.resolve.rules import compile_rules

CODE = "build"


def check(context: Context) -> list[Problem]:
    """Return what does not compile; nothing where the structure is already wrong."""
    try:
        matrix = msgspec.convert(context.value, Matrix)
    except msgspec.ValidationError:
        return []
    return [context.problem(path, CODE, message) for path, message in compile_everything(matrix, {})]


def compile_everything(matrix: Matrix, compiled: CompiledEntries) -> list[tuple[Path, str]]:
    """Return what does not compile, with its place; what does is left in `compiled`."""
    problems: list[tuple[Path, str]] = []
    for name, engine in matrix.engines.items():
        for release in engine.releases:
            try:
                _compile(matrix, name, release, compiled)
            except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
                message = f"{name} {release} does not compile: {type(error).__name__}: {error}"
                problems.append((("engines", name, "releases", release), message))
                break
    for id_, kernel in matrix.kernels.items():
        try:
            KernelProgram(id_, kernel, matrix.sms)
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            problems.append((("kernels", id_), f"does not compile: {type(error).__name__}: {error}"))
    return problems


def _compile(matrix: Matrix, name: str, release: str, compiled: CompiledEntries) -> None:
    engine = matrix.engines[name]
    program = EngineProgram(matrix, engine, release, compiled)
    for backend in program.backends:
        program.program(backend)
    for backend in program.prefill_backends:
        program.prefill_program(backend)
    if engine.linear is not None:
        LinearProgram(engine.linear, release, program.compiler)
    for kind in ("attention", "linear"):
        compile_rules(matrix, program.compiler, kind)
