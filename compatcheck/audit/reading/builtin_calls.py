"""Python's own functions, as far as gates use them."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from compatcheck.audit.reading import classes
from compatcheck.audit.reading.values import (
    Bound,
    ClassValue,
    EnumMember,
    External,
    FunctionValue,
    Instance,
    Intrinsic,
    Proxy,
    RaisedError,
    Scope,
    Sym,
    Template,
    Unknown,
    unwrap,
)

if TYPE_CHECKING:
    from compatcheck.audit.reading.calls import Calls

Call = Callable[["Calls", list[Any], dict[str, Any], ast.AST, Scope], Any]

METHODS = frozenset(
    [
        "startswith",
        "endswith",
        "lower",
        "upper",
        "strip",
        "lstrip",
        "rstrip",
        "removeprefix",
        "removesuffix",
        "split",
        "join",
        "partition",
        "replace",
        "count",
        "index",
        "append",
        "extend",
        "insert",
        "add",
        "update",
        "setdefault",
        "pop",
        "remove",
        "discard",
        "get",
        "keys",
        "values",
        "items",
        "copy",
        "union",
        "intersection",
        "difference",
        "issubset",
        "issuperset",
        "to_int",
        "as_version_str",
        "isdigit",
        "format",
    ]
)
_TYPES = {"str": str, "int": int, "float": float, "bool": bool, "list": list, "tuple": tuple, "dict": dict, "set": set}


def _pointwise(function: Callable[..., Any]) -> Call:
    def call(calls: Calls, arguments: list[Any], keywords: dict[str, Any], node: ast.AST, scope: Scope) -> Any:
        if keywords or any(isinstance(a, Template) for a in arguments):
            return calls.unknown(node, scope, "a call that is not evaluated")
        return calls.machine.lift(lambda *a: function(*map(unwrap, a)), *arguments)

    return call


def _collected(make: Callable[[list[Any]], Any], *, hashed: bool = False) -> Call:
    def call(calls: Calls, arguments: list[Any], keywords: dict[str, Any], node: ast.AST, scope: Scope) -> Any:
        items = list(calls.iterate(arguments[0], node, scope)) if arguments else []
        return make([unwrap(calls.machine.concrete(i)) for i in items] if hashed else items)

    return call


def _any_all(stop: bool) -> Call:
    def call(calls: Calls, arguments: list[Any], keywords: dict[str, Any], node: ast.AST, scope: Scope) -> Any:
        for item in calls.iterate(arguments[0], node, scope):
            if calls.machine.truth(item) is stop:
                return stop
        return not stop

    return call


def _boolean(calls: Calls, arguments: list[Any], keywords: dict[str, Any], node: ast.AST, scope: Scope) -> Any:
    return calls.machine.truth(arguments[0]) if arguments else False


def _extreme(pick: Callable[[list[Any]], Any]) -> Call:
    def call(calls: Calls, arguments: list[Any], keywords: dict[str, Any], node: ast.AST, scope: Scope) -> Any:
        items = list(calls.iterate(arguments[0], node, scope)) if len(arguments) == 1 else arguments
        if keywords or not items:
            return calls.unknown(node, scope, "an extreme of nothing, or by a key")
        return pick([unwrap(calls.machine.concrete(item)) for item in items])

    return call


def _enumerate(calls: Calls, arguments: list[Any], keywords: dict[str, Any], node: ast.AST, scope: Scope) -> Any:
    return list(enumerate(calls.iterate(arguments[0], node, scope), *arguments[1:]))


def _zip(calls: Calls, arguments: list[Any], keywords: dict[str, Any], node: ast.AST, scope: Scope) -> Any:
    return list(zip(*(list(calls.iterate(a, node, scope)) for a in arguments), strict=False))


def _getattr(calls: Calls, arguments: list[Any], keywords: dict[str, Any], node: ast.AST, scope: Scope) -> Any:
    value, name = arguments[0], unwrap(calls.machine.concrete(arguments[1]))
    try:
        return calls.attribute(value, name, node, scope)
    except RaisedError as error:
        if len(arguments) < 3 or error.name not in ("AttributeError", "ImportError", "ModuleNotFoundError"):
            raise
        return arguments[2]


def _hasattr(calls: Calls, arguments: list[Any], keywords: dict[str, Any], node: ast.AST, scope: Scope) -> Any:
    try:
        value = calls.attribute(arguments[0], unwrap(calls.machine.concrete(arguments[1])), node, scope)
    except RaisedError:
        return False
    return value if isinstance(value, Unknown) else True


def _callable(calls: Calls, arguments: list[Any], keywords: dict[str, Any], node: ast.AST, scope: Scope) -> Any:
    value = arguments[0]
    return value if isinstance(value, Unknown) else isinstance(value, (FunctionValue, Bound, ClassValue, Intrinsic))


def _isinstance(calls: Calls, arguments: list[Any], keywords: dict[str, Any], node: ast.AST, scope: Scope) -> Any:
    value, kinds = arguments
    for kind in kinds if type(kinds) is tuple else (kinds,):
        answer = _is_a(calls, value, kind, node, scope)
        if isinstance(answer, Unknown) or calls.machine.truth(answer):
            return answer if isinstance(answer, Unknown) else True
    return False


def _is_a(calls: Calls, value: Any, kind: Any, node: ast.AST, scope: Scope) -> Any:
    if isinstance(kind, ClassValue):
        if isinstance(value, (Instance, EnumMember)):
            return kind in classes.linearise(value.cls)
        if isinstance(value, (Unknown, Proxy)):
            return calls.unknown(node, scope, "the class of a value")
        return False
    name = kind.name.removeprefix("builtins.") if isinstance(kind, External) else ""
    if name in _TYPES and not isinstance(value, (Unknown, Proxy)):
        return calls.machine.lift(lambda v: isinstance(unwrap(v), _TYPES[name]), value)
    return calls.unknown(node, scope, "the class of a value")


def _issubclass(calls: Calls, arguments: list[Any], keywords: dict[str, Any], node: ast.AST, scope: Scope) -> Any:
    value, kinds = arguments
    listed = kinds if type(kinds) is tuple else (kinds,)
    if isinstance(value, ClassValue) and all(isinstance(kind, ClassValue) for kind in listed):
        return any(kind in classes.linearise(value) for kind in listed)
    return calls.unknown(node, scope, "the bases of a class")


def _range(calls: Calls, arguments: list[Any], keywords: dict[str, Any], node: ast.AST, scope: Scope) -> Any:
    return range(*[unwrap(calls.machine.concrete(a)) for a in arguments])


def _text(calls: Calls, arguments: list[Any], keywords: dict[str, Any], node: ast.AST, scope: Scope) -> Any:
    value = arguments[0] if arguments else ""
    return value if isinstance(value, Template) else calls.machine.lift(lambda v: str(unwrap(v)), value)


def _nothing(calls: Calls, arguments: list[Any], keywords: dict[str, Any], node: ast.AST, scope: Scope) -> Any:
    return None


def _same(calls: Calls, arguments: list[Any], keywords: dict[str, Any], node: ast.AST, scope: Scope) -> Any:
    return arguments[-1]


def _sorted(calls: Calls, arguments: list[Any], keywords: dict[str, Any], node: ast.AST, scope: Scope) -> Any:
    if keywords:
        return calls.unknown(node, scope, "an order by a key")
    return sorted(unwrap(calls.machine.concrete(i)) for i in calls.iterate(arguments[0], node, scope))


def _sym_len(value: Any) -> int:
    return len(value)


BUILTINS: dict[str, Call] = {
    "builtins.len": _pointwise(_sym_len),
    "builtins.int": _pointwise(int),
    "builtins.float": _pointwise(float),
    "builtins.abs": _pointwise(abs),
    "math.gcd": _pointwise(math.gcd),
    "math.lcm": _pointwise(math.lcm),
    "builtins.str": _text,
    "builtins.repr": _pointwise(repr),
    "builtins.bool": _boolean,
    "builtins.list": _collected(list),
    "builtins.tuple": _collected(tuple),
    "builtins.set": _collected(set, hashed=True),
    "builtins.frozenset": _collected(frozenset, hashed=True),
    "builtins.any": _any_all(True),
    "builtins.all": _any_all(False),
    "builtins.min": _extreme(min),
    "builtins.max": _extreme(max),
    "builtins.sorted": _sorted,
    "builtins.range": _range,
    "builtins.enumerate": _enumerate,
    "builtins.zip": _zip,
    "builtins.getattr": _getattr,
    "builtins.hasattr": _hasattr,
    "builtins.callable": _callable,
    "builtins.isinstance": _isinstance,
    "builtins.issubclass": _issubclass,
    "builtins.print": _nothing,
    "typing.cast": _same,
}
"""Functions of Python by name."""

__all__ = ["BUILTINS", "METHODS", "Sym"]
