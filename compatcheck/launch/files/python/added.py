"""What the scopes of a Python file do to lists: which names they set, add to, and hand on to be changed."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence

from compatcheck.launch.files.python.bindings import Place, Scope, bindings
from compatcheck.launch.files.python.grown import key_of

ADDING = frozenset({"append", "extend", "insert"})
_BODIES = frozenset({"body", "orelse", "finalbody", "handlers", "cases"})
_NOWHERE = Place(Scope("module", "", None), 0, (0,))
CHANGING = frozenset({"remove", "pop", "clear", "sort", "reverse"})


def shallow(node: ast.AST) -> list[ast.AST]:
    """Return a statement and those inside it, without what stands in functions of their own."""
    found, open_ = [], [node]
    while open_:
        one = open_.pop()
        found.append(one)
        if not isinstance(one, (ast.FunctionDef, ast.AsyncFunctionDef, ast.expr)):
            open_ += reversed(list(ast.iter_child_nodes(one)))
    return found


def assigned(body: Sequence[ast.stmt]) -> set[str]:
    """Return the names that a scope sets itself."""
    nodes = [node for statement in body for node in shallow(statement)]
    targets = [t for n in nodes if isinstance(n, ast.Assign) for t in n.targets]
    targets += [n.target for n in nodes if isinstance(n, ast.AnnAssign)]
    return {key for target in targets if (key := key_of(target)) is not None}


def rebound(node: ast.AST) -> list[str]:
    """Return the names that a statement, a handler or a case binds to what is not written down."""
    nodes = [node]
    for field, value in ast.iter_fields(node):
        parts = value if isinstance(value, list) else [value]
        if field not in _BODIES and not (parts and isinstance(parts[0], ast.stmt)):
            nodes += [inner for part in parts if isinstance(part, ast.AST) for inner in ast.walk(part)]
    plain = (ast.Assign, ast.AnnAssign)
    return [
        name
        for one in nodes
        for name, binding in bindings(one, _NOWHERE)
        if not binding.grows and (binding.value is None or not isinstance(one, plain))
    ]


def used(function: ast.AST) -> set[str]:
    """Return the names that a function mentions."""
    return {key for node in ast.walk(function) if (key := key_of(node)) is not None}


def shared(nodes: Iterable[ast.AST]) -> set[str]:
    """Return the names that functions set in other scopes than their own."""
    return {name for node in nodes if isinstance(node, (ast.Global, ast.Nonlocal)) for name in node.names}


def added_to(nodes: Iterable[ast.AST], *, adding: bool = True) -> set[str]:
    """Return the names to whose lists something is added, or of which something is taken or replaced.

    Without `adding`: only those of the second kind.
    """
    found: set[str | None] = set()
    methods = ADDING | CHANGING if adding else CHANGING | {"insert"}
    for node in nodes:
        if isinstance(node, ast.AugAssign) and adding:
            found.add(key_of(node.target))
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            if node.func.attr in methods:
                found.add(key_of(node.func.value))
        elif isinstance(node, ast.Subscript) and isinstance(node.ctx, (ast.Store, ast.Del)):
            found.add(key_of(node.value))
    return {key for key in found if key is not None}


def handed(nodes: Iterable[ast.AST], functions: set[str]) -> set[str]:
    """Return the names that are given to functions of these names."""
    calls = [n for n in nodes if isinstance(n, ast.Call) and (key_of(n.func) or "").rpartition(".")[2] in functions]
    given = {key_of(argument) for call in calls for argument in (*call.args, *(k.value for k in call.keywords))}
    return {key for key in given if key is not None}


def changers(nodes: Sequence[ast.AST]) -> set[str]:
    """Return the functions of the file that change a list that they are given."""
    functions = [n for n in nodes if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef))]
    return {f.name for f in functions if {a.arg for a in (*f.args.posonlyargs, *f.args.args)} & added_to(ast.walk(f))}


def grown_results(nodes: Sequence[ast.AST]) -> set[str]:
    """Return the functions of the file to whose result more is added where they are called."""
    called: dict[str, set[str]] = {}
    added = added_to(nodes)
    for node in nodes:
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
            name = (key_of(node.value.func) or "").rpartition(".")[2]
            called.setdefault(name, set()).update(key for t in node.targets if (key := key_of(t)) is not None)
    whole: set[str] = set()
    for node in nodes:
        parts = [node.left, node.right] if isinstance(node, ast.BinOp) else []
        parts += [node.value] if isinstance(node, ast.Starred) else []
        for part in parts:
            if isinstance(part, ast.Call):
                whole.add((key_of(part.func) or "").rpartition(".")[2])
            added |= {key for key in [key_of(part)] if key is not None}
    return whole | {name for name, keys in called.items() if keys & added}
