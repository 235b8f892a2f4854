"""What a FlashInfer release's text says of the functions that kernels name (runs in the reading process)."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import Any

import msgspec

from compatcheck.audit.engine_environment import EngineEnvironment
from compatcheck.audit.guards.item import Guard
from compatcheck.audit.guards.library import read_guards
from compatcheck.audit.reading import classes
from compatcheck.audit.reading.digest import digest
from compatcheck.audit.reading.explore import Gate
from compatcheck.audit.reading.machine import Machine
from compatcheck.audit.reading.source import Program
from compatcheck.audit.reading.statements import Evaluator
from compatcheck.audit.reading.values import ClassValue, FunctionValue, NotUnderstoodError, RaisedError, Scope, Unknown

REQUIREMENT = "backend_requirement"
CAPABILITY = "supported_compute_capability"
METHODS = ("__init__", "plan", "run")
"""A wrapper's methods whose parameters are looked at."""


class SymbolReading(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One function or class. `present` is None where only running the module would tell."""

    present: bool | None
    why: str = ""
    file: str = ""
    line: int = 0
    parameters: dict[str, list[str]] = {}
    """Function (or a class's method) -> its parameters, in order."""
    capabilities: list[int] | None = None
    """Compute capabilities of its own decorator, as integers such as 90; None without one."""
    backends: dict[str, list[int] | None] = {}
    """Backend of its requirement -> the capabilities that it lists; None where it lists none."""
    requirement: str = ""
    """Fingerprint of the functions that check a call's arguments."""
    gates: list[Gate] = []


class FlashInferReading(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Everything that was read."""

    symbols: dict[str, SymbolReading] = {}
    unreadable: dict[str, str] = {}
    guards: list[Guard] = []
    """What nothing evaluates, by fingerprint."""


def read_flashinfer(program: Program, symbols: Iterable[str]) -> FlashInferReading:
    """Return what the text says of symbols such as `flashinfer.page:append_paged_kv_cache`."""
    environment = EngineEnvironment()
    found: dict[str, SymbolReading] = {}
    symbols = list(symbols)
    for symbol in symbols:
        evaluator = Evaluator(program, Machine({}, []), environment)
        found[symbol] = _Symbol(program, evaluator, symbol).read()
    return FlashInferReading(symbols=found, guards=read_guards(program, symbols), unreadable=program.unreadable)


class _Symbol:
    def __init__(self, program: Program, evaluator: Evaluator, symbol: str) -> None:
        self.program = program
        self.evaluator = evaluator
        self.module, _, self.name = symbol.partition(":")
        self.gates: list[Gate] = []
        self.checks: list[ast.AST] = []

    def read(self) -> SymbolReading:
        try:
            value = self.evaluator.imported(self.module, self.name, _NODE, Scope(self.module))
        except RaisedError as error:
            return SymbolReading(present=False, why=str(error))
        except NotUnderstoodError as error:
            return SymbolReading(present=None, why=str(error))
        if isinstance(value, Unknown):
            return SymbolReading(present=None, why=f"{value.place.file}:{value.place.line}: {value.why}")
        if not isinstance(value, (FunctionValue, ClassValue)):
            return SymbolReading(present=True)
        parsed = self.program.module(value.module)
        functions = (
            {value.node.name: value}
            if isinstance(value, FunctionValue) and not isinstance(value.node, ast.Lambda)
            else {}
        )
        if isinstance(value, ClassValue):
            functions = self._methods(value)
        capabilities, backends = None, {}
        for function in functions.values():
            own, listed = self._requirements(function)
            capabilities = own if own is not None else capabilities
            backends.update(listed)
        return SymbolReading(
            present=True,
            file=parsed.file if parsed else "",
            line=value.node.lineno,
            parameters={name: _parameters(function.node) for name, function in functions.items()},
            capabilities=capabilities,
            backends=backends,
            requirement=digest(self.checks) if self.checks else "",
            gates=self.gates,
        )

    def _methods(self, cls: ClassValue) -> dict[str, FunctionValue]:
        found: dict[str, FunctionValue] = {}
        for base in classes.linearise(cls):
            for name in METHODS if isinstance(base, ClassValue) else ():
                for node in classes.bindings(base.node).get(name, [])[-1:]:
                    if isinstance(node, ast.FunctionDef) and name not in found:
                        found[name] = FunctionValue(node, base.module, None)
        return found

    def _requirements(self, function: FunctionValue) -> tuple[list[int] | None, dict[str, list[int] | None]]:
        own: list[int] | None = None
        backends: dict[str, list[int] | None] = {}
        if isinstance(function.node, ast.Lambda):
            return own, backends
        for decorator in function.node.decorator_list:
            if not isinstance(decorator, ast.Call):
                continue
            called = ast.unparse(decorator.func).rpartition(".")[2]
            if called == CAPABILITY:
                own = self._numbers(decorator, function.module)
            elif called == REQUIREMENT:
                common, backends = self._backends(decorator, function.module)
                own = common if common is not None else own
        return own, backends

    def _backends(self, decorator: ast.Call, module: str) -> tuple[list[int] | None, dict[str, list[int] | None]]:
        found: dict[str, list[int] | None] = {}
        common: list[int] | None = None
        arguments = {k.arg: k.value for k in decorator.keywords if k.arg}
        if decorator.args:
            arguments.setdefault("backend_checks", decorator.args[0])
        scope = self.evaluator.module_scope(module)
        for name, node in arguments.items():
            value = self._value(node, module)
            if name == "backend_checks":
                if not isinstance(value, dict):
                    self._lost(node, scope, "the backends of a requirement")
                    continue
                for backend, check in value.items():
                    found[str(backend)] = self._check(check, node, scope)
            elif name == "common_check":
                common = self._check(value, node, scope)
            elif name == "heuristic_func":
                self._check(value, node, scope)
            else:
                self._lost(node, scope, f"a part of a requirement that is not known: {name}")
        return common, found

    def _check(self, check: Any, node: ast.AST, scope: Scope) -> list[int] | None:
        if not isinstance(check, FunctionValue):
            if check is not None:
                self._lost(node, scope, "a check that cannot be followed")
            return None
        self.checks.append(check.node)
        for decorator in getattr(check.node, "decorator_list", []):
            if isinstance(decorator, ast.Call) and ast.unparse(decorator.func).rpartition(".")[2] == CAPABILITY:
                return self._numbers(decorator, check.module)
        return None

    def _numbers(self, decorator: ast.Call, module: str) -> list[int] | None:
        value = self._value(decorator.args[0], module) if decorator.args else None
        if isinstance(value, (list, tuple, set, frozenset)) and all(isinstance(v, int) for v in value):
            return sorted(value)
        self._lost(decorator, self.evaluator.module_scope(module), "the compute capabilities of a decorator")
        return None

    def _value(self, node: ast.expr, module: str) -> Any:
        try:
            return self.evaluator.evaluate(node, self.evaluator.module_scope(module))
        except (NotUnderstoodError, RaisedError):
            return None

    def _lost(self, node: ast.AST, scope: Scope, why: str) -> None:
        place = self.evaluator.place(node, scope)
        self.gates.append(Gate(file=place.file, line=place.line, text=place.text, why=why))


def _parameters(function: ast.AST) -> list[str]:
    if not isinstance(function, ast.FunctionDef):
        return []
    spec = function.args
    names = [p.arg for p in (*spec.posonlyargs, *spec.args)]
    names += [f"*{spec.vararg.arg}"] if spec.vararg else []
    names += [f"{p.arg}=" for p in spec.kwonlyargs]
    names += [f"**{spec.kwarg.arg}"] if spec.kwarg else []
    return names


_NODE = ast.parse("symbol", mode="eval").body
