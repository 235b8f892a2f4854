"""What a Python file changes of dictionaries and lists by name, and its functions that change what they are given."""

from __future__ import annotations

import ast

from compatcheck.launch.files.python.scopes import Scopes
from compatcheck.launch.files.python.values import name_of

MAX_ALIASES = 20
METHODS = frozenset({"update", "setdefault", "pop", "popitem", "clear", "append", "extend", "insert", "remove", "sort"})


def changers(scopes: Scopes) -> set[str]:
    """Return the functions of the file that change an item or an attribute of what they are given."""
    found: set[str] = set()
    for node in scopes.nodes:
        target: ast.expr | None = None
        if isinstance(node, (ast.Subscript, ast.Attribute)) and isinstance(node.ctx, (ast.Store, ast.Del)):
            target = node.value
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in METHODS:
            target = node.func.value
        elif isinstance(node, ast.Call) and name_of(node.func) == "setattr" and node.args:
            target = node.args[0]
        elif isinstance(node, ast.AugAssign):
            target = node.target
        if not isinstance(target, ast.Name) or target.id in ("self", "cls"):
            continue
        place = scopes.at[id(target)]
        for scope in place.scope.functions()[:-1]:
            bound = scope.bindings.get(target.id)
            if bound is not None:
                if bound[0].value is None and bound[0].imported is None:
                    found.add(scope.name)
                break
    return found


def changed_names(scopes: Scopes) -> set[str]:
    """Return the names, of any scope, that may hold a dictionary or list of which something is changed."""
    functions = changers(scopes)
    found: set[str] = set()
    same: list[tuple[str, str]] = []
    for node in scopes.nodes:
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, (ast.Store, ast.Del)):
            found.add(name_of(node.value))
        elif isinstance(node, ast.AugAssign):
            found.add(name_of(node.target))
        elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Name):
            same += [(name_of(target), node.value.id) for target in node.targets]
        elif isinstance(node, ast.Call):
            if isinstance(node.func, ast.Attribute) and node.func.attr in METHODS:
                found.add(name_of(node.func.value))
            if name_of(node.func) in functions:
                found |= {name_of(argument) for argument in (*node.args, *(k.value for k in node.keywords))}
    for _ in range(MAX_ALIASES):
        found |= {name for one, two in same if one in found or two in found for name in (one, two)}
    return found - {""}
