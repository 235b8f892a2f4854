"""Calls: functions of the release, its classes, methods of plain values."""

from __future__ import annotations

import ast
from typing import Any

from compatcheck.audit.reading import classes
from compatcheck.audit.reading.builtin_calls import BUILTINS, METHODS
from compatcheck.audit.reading.core import MISSING
from compatcheck.audit.reading.expressions import Expressions
from compatcheck.audit.reading.machine import DEPTH, FAULTS, ImpureError
from compatcheck.audit.reading.values import (
    Bound,
    Capability,
    ClassValue,
    EnumMember,
    External,
    FunctionValue,
    Instance,
    Intrinsic,
    Method,
    NotUnderstoodError,
    RaisedError,
    Scope,
    Super,
    Sym,
    Template,
    Unknown,
    unwrap,
)


class ReturnedError(Exception):
    """Control flow: `return`."""

    def __init__(self, value: Any) -> None:
        super().__init__()
        self.value = value


class Calls(Expressions):
    """Evaluates calls."""

    def _call(self, node: ast.Call, scope: Scope) -> Any:
        function = self.evaluate(node.func, scope)
        if function == External("builtins.super") and not node.args:
            return self._super(node, scope)
        arguments = self._elements(node.args, scope)
        keywords: dict[str, Any] = {}
        for keyword in node.keywords:
            value = self.evaluate(keyword.value, scope)
            if keyword.arg is not None:
                keywords[keyword.arg] = value
                continue
            spread = self.machine.concrete(value)
            if not isinstance(spread, dict):
                return self.unknown(node, scope, "what is spread here is no mapping")
            keywords.update(spread)
        return self.call(function, arguments, keywords, node, scope)

    def _super(self, node: ast.AST, scope: Scope) -> Any:
        inner: Scope | None = scope
        while inner is not None and (inner.function is None or inner.function.owner is None):
            inner = inner.parent
        if inner is None or inner.function is None or inner.function.owner is None:
            return self.unknown(node, scope, "super() outside a method")
        return Super(inner.function.owner, inner.first)

    def call(self, function: Any, arguments: list[Any], keywords: dict[str, Any], node: ast.AST, scope: Scope) -> Any:
        if isinstance(function, Unknown):
            return Unknown(function.place, function.why)
        if isinstance(function, Intrinsic):
            return function.call(arguments, keywords)
        if isinstance(function, Bound):
            return self._enter(function.function, [function.first, *arguments], keywords, node, scope)
        if isinstance(function, FunctionValue):
            return self._enter(function, arguments, keywords, node, scope)
        if isinstance(function, ClassValue):
            return self._make(function, arguments, keywords, node, scope)
        if isinstance(function, Method):
            return self._method(function, arguments, keywords, node, scope)
        if isinstance(function, External):
            known = BUILTINS.get(function.name)
            if known is not None:
                return known(self, arguments, keywords, node, scope)
        if isinstance(function, Instance):
            inner = self.class_attribute(function.cls, "__call__", function)
            if inner is not MISSING:
                return self.call(inner, arguments, keywords, node, scope)
        return self.unknown(node, scope, "a call of something outside the release")

    # ---------------------------------------------------------------------------------------- functions

    def _enter(
        self, function: FunctionValue, arguments: list[Any], keywords: dict[str, Any], node: ast.AST, scope: Scope
    ) -> Any:
        if function.unknown is not None:
            return self.unknown(node, scope, function.unknown)
        self.entered[f"{function.module}:{function.name}:{getattr(function.node, 'lineno', 0)}"] = function
        if self.machine.pure == 0 and function.scope is None:
            whole = self._pointwise(function, arguments, keywords, node, scope)
            if whole is not MISSING:
                return whole
        inner = Scope(function.module, function.scope or self.module_scope(function.module))
        inner.function = function
        inner.first = arguments[0] if arguments else None
        self._bind_arguments(function, arguments, keywords, inner)
        if self.machine.depth >= DEPTH:
            self.refuse(node, scope, "calls too deep")
        self.machine.depth += 1
        try:
            if isinstance(function.node, ast.Lambda):
                return self.evaluate(function.node.body, inner)
            if isinstance(function.node, ast.AsyncFunctionDef) or _yields(function.node):
                return self.unknown(node, scope, "a generator or coroutine")
            try:
                self.execute(function.node.body, inner)
            except ReturnedError as returned:
                return returned.value
            return None
        finally:
            self.machine.depth -= 1

    def _pointwise(
        self, function: FunctionValue, arguments: list[Any], keywords: dict[str, Any], node: ast.AST, scope: Scope
    ) -> Any:
        """Return a call as a function of the one input that its arguments depend on, or `MISSING` where it is not that.

        `is_quantized(dtype)` asks ten questions of its argument and has two answers: without this, each of the ten
        would split every run that calls it.
        """
        values = [*arguments, *keywords.values()]
        open_ = [v for v in values if isinstance(v, Sym)]
        if len(open_) != 1 or not all(isinstance(v, (Sym, str, int, type(None), ClassValue)) for v in values):
            return MISSING
        var = open_[0].var
        if var == "sm":
            return MISSING  # so that a comparison with an SM that nobody knows is seen as one
        key = (id(function.node), var, tuple("*" if isinstance(v, Sym) else repr(v) for v in values), tuple(keywords))
        table = self.program.tables.get(key)
        if table is None:
            table = self.program.tables[key] = self._table(function, arguments, keywords, open_[0], node, scope)
        self.entered.update(table[1])
        at = open_[0].at
        answers = table[0]
        if answers is None or not all(_point(at(p)) in answers for p in self.machine.domain(var)):
            return MISSING
        told = [answers[_point(at(p))] for p in self.machine.domain(var)]
        if all(type(t) is type(told[0]) and t == told[0] for t in told):
            return _told(told[0])
        return Sym(var, lambda point: _told(answers[_point(at(point))]))

    def _table(
        self,
        function: FunctionValue,
        arguments: list[Any],
        keywords: dict[str, Any],
        open_: Sym,
        node: ast.AST,
        scope: Scope,
    ) -> tuple[dict[Any, Any] | None, dict[str, Any]]:
        answers: dict[Any, Any] = {}
        outer, self.entered = self.entered, {}
        self.machine.pure += 1
        depth = self.machine.depth
        try:
            for point in self.machine.domains[open_.var]:
                value = open_.at(point)
                given = [value if a is open_ else a for a in arguments]
                named = {name: value if a is open_ else a for name, a in keywords.items()}
                try:
                    result = self._enter(function, given, named, node, scope)
                except RaisedError as error:
                    result = error
                if not isinstance(result, (str, int, float, type(None), EnumMember, External, RaisedError)):
                    return None, self.entered
                answers[_point(value)] = result
        except (ImpureError, NotUnderstoodError, *FAULTS):
            return None, self.entered
        finally:
            self.machine.pure -= 1
            self.machine.depth = depth
            entered, self.entered = self.entered, outer
        return answers, entered

    def _bind_arguments(
        self, function: FunctionValue, arguments: list[Any], keywords: dict[str, Any], inner: Scope
    ) -> None:
        spec = function.node.args
        outer = function.scope or self.module_scope(function.module)
        positional = [*spec.posonlyargs, *spec.args]
        left = dict(keywords)
        for parameter, value in zip(positional, arguments, strict=False):
            inner.names[parameter.arg] = value
        if len(arguments) > len(positional) and spec.vararg is None:
            raise RaisedError("TypeError", f"{function.name}() takes {len(positional)} positional arguments")
        if spec.vararg is not None:
            inner.names[spec.vararg.arg] = tuple(arguments[len(positional) :])
        defaults = dict(
            zip([p.arg for p in positional[len(positional) - len(spec.defaults) :]], spec.defaults, strict=True)
        )
        defaults.update({p.arg: d for p, d in zip(spec.kwonlyargs, spec.kw_defaults, strict=True) if d is not None})
        for parameter in [*positional[len(arguments) :], *spec.kwonlyargs]:
            if parameter.arg in left:
                inner.names[parameter.arg] = left.pop(parameter.arg)
            elif parameter.arg in defaults:
                inner.names[parameter.arg] = self.evaluate(defaults[parameter.arg], outer)
            else:
                raise RaisedError("TypeError", f"{function.name}() misses {parameter.arg!r}")
        if spec.kwarg is not None:
            inner.names[spec.kwarg.arg] = left
        elif left:
            raise RaisedError("TypeError", f"{function.name}() got an unexpected keyword argument {next(iter(left))!r}")

    # ------------------------------------------------------------------------------------------ classes

    def _make(
        self, cls: ClassValue, arguments: list[Any], keywords: dict[str, Any], node: ast.AST, scope: Scope
    ) -> Any:
        if cls.name == "DeviceCapability":
            major, minor = [unwrap(self.machine.concrete(v)) for v in [*arguments, *keywords.values()]]
            return Capability(major, minor)
        if classes.is_enum(cls):
            wanted = unwrap(self.machine.concrete(arguments[0]))
            found = next((m for m in self.members(cls) if m.value == wanted), None)
            if found is None:
                raise RaisedError("ValueError", f"{wanted!r} is not a valid {cls.name}")
            return found
        order = classes.linearise(cls)
        if any(
            not isinstance(b, ClassValue) and not (isinstance(b, External) and b.name in classes.HARMLESS)
            for b in order
        ):
            return self.unknown(node, scope, "an object of a class with a base outside the release")
        instance = Instance(cls, {})
        start = self.class_attribute(cls, "__init__", instance)
        if isinstance(start, Bound):
            self.call(start, arguments, keywords, node, scope)
            return instance
        fields = [
            f
            for base in reversed([b for b in order if isinstance(b, ClassValue)])
            for f in classes.annotated_fields(base.node)
        ]
        given = dict(zip([name for name, _ in fields], arguments, strict=False)) | keywords
        for name, default in fields:
            if name in given:
                instance.fields[name] = given[name]
            elif default is not None:
                instance.fields[name] = self.evaluate(default, Scope(cls.module, self.module_scope(cls.module)))
        if len(arguments) > len(fields):
            raise RaisedError("TypeError", f"{cls.name}() takes {len(fields)} arguments")
        return instance

    # ---------------------------------------------------------------------------- methods of plain values

    def _method(
        self, method: Method, arguments: list[Any], keywords: dict[str, Any], node: ast.AST, scope: Scope
    ) -> Any:
        value, name = method
        if name not in METHODS or keywords:
            return self.unknown(node, scope, "a method that is not evaluated")
        if isinstance(value, (list, set, dict)):
            if name in ("append", "extend", "insert", "add", "update", "setdefault", "pop", "remove", "discard"):
                changed = [
                    unwrap(self.machine.concrete(a)) if name in ("add", "remove", "discard") else a for a in arguments
                ]
                if name == "extend":
                    changed = [list(self.iterate(changed[0], node, scope))]
                return _change(value, name, changed)
            if isinstance(value, dict) and name in ("get", "keys", "values", "items"):
                found = getattr(value, name)(*[unwrap(self.machine.concrete(a)) for a in arguments[:1]], *arguments[1:])
                return found if name == "get" else list(found)
        if isinstance(value, Template):
            return self.unknown(node, scope, "a method of a text that depends on inputs")
        if isinstance(value, str) and name == "join":
            items = list(self.iterate(arguments[0], node, scope))
            if all(isinstance(item, str) for item in items):
                return value.join(items)
            parts = [part for item in items for part in (item, value)]
            return Template(parts[:-1])
        if name == "format":
            return self.unknown(node, scope, "a formatted text")
        for argument in arguments:
            if isinstance(argument, (list, dict, set)) and any(isinstance(a, Sym) for a in argument):
                return self.unknown(node, scope, "a method over inputs")
        return self.machine.lift(lambda v, *a: getattr(unwrap(v), name)(*map(unwrap, a)), value, *arguments)


def _point(value: Any) -> Any:
    return (type(value).__name__, value)


def _told(result: Any) -> Any:
    if isinstance(result, RaisedError):
        raise result
    return result


def _change(value: Any, name: str, arguments: list[Any]) -> Any:
    try:
        return getattr(value, name)(*arguments)
    except (KeyError, ValueError, IndexError) as error:
        raise RaisedError(type(error).__name__, str(error)) from None


def _yields(function: ast.FunctionDef) -> bool:
    known: bool | None = getattr(function, "_yields", None)
    if known is None:
        known = function._yields = _finds_yield(function)  # type: ignore[attr-defined]
    return known


def _finds_yield(function: ast.FunctionDef) -> bool:
    pending: list[ast.AST] = list(function.body)
    while pending:
        node = pending.pop()
        if isinstance(node, (ast.Yield, ast.YieldFrom)):
            return True
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef, ast.GeneratorExp)):
            pending += ast.iter_child_nodes(node)
    return False
