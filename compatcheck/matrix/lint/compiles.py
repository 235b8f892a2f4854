"""Build: every release of every engine, every rule and every kernel compiles to the program that will be asked.

The last word, after the rules that know the place: what passes lint cannot fail in `check`. Asked only of a matrix that
is otherwise well-formed, since its words have no line of their own.
"""

from __future__ import annotations

from typing import Any

import msgspec
from packaging.version import Version

from compatcheck.matrix.errors import Problem
from compatcheck.matrix.lint.context import Context
from compatcheck.matrix.model import Matrix
from compatcheck.matrix.versions import parse
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
        changed = _Changed(context.value["engines"][name])
        for release in engine.releases:
            try:
                program = EngineProgram(matrix, engine, release)
                for backend in changed.of("backends", "selector", release):
                    program.program(backend)
                for backend in changed.of("mla_prefill_backends", "prefill_selector", release):
                    program.prefill_program(backend)
                if engine.linear is not None:
                    LinearProgram(engine.linear, release, program.compiler)
                # What a rule names is known in every release or in none.
                for code, rule in matrix.rules.items() if release == next(iter(engine.releases)) else ():
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


class _Changed:
    """Tells which backends a release compiles from other facts than any release before it."""

    def __init__(self, engine: dict[str, Any]) -> None:
        self._engine = engine
        self._marks: dict[tuple[str, str], list[Version]] = {}
        self._seen: set[tuple[str, str, tuple[bool, ...]]] = set()

    def of(self, backends: str, selector: str, release: str) -> list[str]:
        """Return the backends of one kind that are new or changed, by the releases that are named in their facts."""
        at = parse(release)
        found: list[str] = []
        for name in self._engine.get(backends) or {}:
            marks = self._marks.get((backends, name))
            if marks is None:
                facts = [self._engine[backends][one] for one in self._related(backends, name)]
                named = _releases([facts, self._engine.get(selector)])
                marks = self._marks[backends, name] = [parse(mark) for mark in sorted(named)]
            key = (backends, name, tuple([mark <= at for mark in marks]))
            if key not in self._seen:
                self._seen.add(key)
                found.append(name)
        return found

    def _related(self, backends: str, name: str) -> set[str]:
        """Return a backend, those whose facts it takes over, and its members with theirs."""
        found: set[str] = set()
        open_ = [name]
        while open_:
            one = open_.pop()
            if one not in found and one in self._engine[backends]:
                found.add(one)
                entry = self._engine[backends][one]
                open_ += [*([entry["extends"]] if entry.get("extends") else []), *(entry.get("members") or [])]
        return found


def _releases(value: Any) -> set[str]:
    """Return every release that stands anywhere inside under `since` or `until`."""
    if isinstance(value, dict):
        own = {str(value[key]) for key in ("since", "until") if value.get(key)}
        return own.union(*[_releases(inner) for inner in value.values()])
    return set().union(*[_releases(inner) for inner in value]) if isinstance(value, list) else set()
