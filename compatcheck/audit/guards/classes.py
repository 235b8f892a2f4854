"""Guards of a class: what makes it (decorators, metaclass, hooks of its bases), its body, methods nobody evaluates."""

from __future__ import annotations

import ast
from collections.abc import Callable

from compatcheck.audit.guards.names import FUNCTIONS, Found
from compatcheck.audit.guards.reach import Reach

HOOKS = frozenset(["__init_subclass__", "__class_getitem__", "__getattr__", "__getattribute__", "__new__", "__call__"])
"""Methods that change what asking a class means."""
EVALUATED = frozenset(["supported_dtypes", "supported_kv_cache_dtypes"])


def watch(reach: Reach, group: str, cls: Found, methods: Callable[[str], bool], depth: int) -> list[Found]:
    """Watch a class and its bases inside the release. Returns them."""
    found = list(reach.names.bases(cls))
    for one in found:
        if isinstance(one.node, ast.ClassDef) and not one.module.name.startswith("vllm.model_executor.layers"):
            _one(reach, group, one, one.node, methods, depth)
    return found


def _one(reach: Reach, group: str, cls: Found, node: ast.ClassDef, methods: Callable[[str], bool], depth: int) -> None:
    hooks = [item for item in node.body if isinstance(item, FUNCTIONS) and item.name in HOOKS]
    made = [*node.decorator_list, *(keyword.value for keyword in node.keywords), *hooks]
    if made:
        reach.put(group, cls.module, f"{cls.name} <made by>", node.lineno, made)
        for one in made:
            reach.called(group, cls.module, one, 1, cls)
        for keyword in node.keywords:
            metaclass = reach.names.dotted(cls.module, keyword.value)
            if metaclass is not None and isinstance(metaclass.node, ast.ClassDef):
                reach.put(group, metaclass.module, metaclass.name, metaclass.node.lineno, [metaclass.node])
    members = any(ast.unparse(base).endswith("Enum") for base in node.bases)
    body = [item for item in node.body if not _evaluated(item) and not (members and _member(item))]
    if body:
        reach.put(group, cls.module, f"{cls.name} <body>", node.lineno, body)
    for item in node.body:
        if isinstance(item, FUNCTIONS) and item.name not in HOOKS and methods(item.name):
            reach.function(group, cls.module, item, depth, cls)


def _evaluated(item: ast.stmt) -> bool:
    """Return whether a statement of a class's body is a method, a text, or one of the lists that are evaluated."""
    if isinstance(item, (*FUNCTIONS, ast.Pass)):
        return True
    if isinstance(item, ast.Expr) and isinstance(item.value, ast.Constant):
        return True
    if isinstance(item, ast.AnnAssign) and item.value is None:
        return True
    targets = item.targets if isinstance(item, ast.Assign) else [item.target] if isinstance(item, ast.AnnAssign) else []
    return bool(targets) and all(isinstance(t, ast.Name) and t.id in EVALUATED for t in targets)


def _member(item: ast.stmt) -> bool:
    """Return whether a statement of an enumeration's body is a member with a plain value: these are evaluated."""
    return isinstance(item, ast.Assign) and isinstance(item.value, ast.Constant)
