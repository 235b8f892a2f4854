"""Calls of vLLM's engine classes in a Python file: their keywords, and what is changed of them before they are used."""

from __future__ import annotations

import ast

from compatcheck.launch.files.python.changes import Change
from compatcheck.launch.files.python.environment import Environments
from compatcheck.launch.files.python.mappings import Held, Item
from compatcheck.launch.files.python.settings import elsewhere_of, settings_of
from compatcheck.launch.model import Launch

RUN = frozenset({"LLM", "AsyncLLM"})
"""Classes that start the engine where they are called."""
CALLS = RUN | {"EngineArgs", "AsyncEngineArgs"}


def engine_class(node: ast.AST, environments: Environments) -> str | None:
    """Return the class of vLLM's engine that a call names, by what the file imports; None for any other call.

    In a piece of a file, which imports something of vLLM and binds the name nowhere, it is vLLM's.
    """
    dotted = environments.scopes.dotted(node.func) if isinstance(node, ast.Call) else ""
    if dotted in CALLS and environments.scopes.imports_vllm:
        return dotted
    package, _, rest = dotted.partition(".")
    called = rest.rpartition(".")[2]
    return called if package == "vllm" and called in CALLS else None


def engine_launch(node: ast.Call, program: str, environments: Environments) -> Launch:
    """Return the launch that a call of an engine class describes."""
    exact = program in RUN
    given = environments.mappings.keywords(node, exact=True)
    held, rest = Held(), [*node.args]
    if rest and not isinstance(rest[0], ast.Starred):
        held.set("model", Item(rest[0], rest.pop(0)))
    held.merge(given, apart=True)
    if not exact:
        _changed(node, held, environments)
    variables, elsewhere = environments.at(node, exact=exact)
    return Launch(
        program=f"{program}()",
        form="python",
        settings=tuple(settings_of(held, environments.values)),
        environment=variables,
        elsewhere=(*elsewhere_of(rest), *elsewhere),
        line=node.lineno,
        column=node.col_offset + 1,
    )


def _changed(node: ast.Call, held: Held, environments: Environments) -> None:
    """Set the attributes that are changed of arguments after they were made."""
    for change, sure in changes_of(node, environments):
        environments.mappings.apply(held, change, sure=sure)


def changes_of(node: ast.Call, environments: Environments) -> list[tuple[Change, bool]]:
    """Return the changes of an object that a call makes, and whether each is made before the object is used."""
    scopes = environments.scopes
    place = scopes.at[id(node)]
    name = environments.names.get(id(node))
    key = environments.changes.key(name)
    if name is None or key is None:
        return []
    made = [c for c in environments.changes.of.get(key, []) if c.place.order > place.order]
    made = [c for c in made if c.place.scope.function() in place.scope.functions() or place.scope.kind == "module"]
    used = [use.order for use in environments.passed.get(name.id, [])]
    return [
        (c, c.place.blocks[-1] in place.blocks and not any(place.order < use < c.place.order for use in used))
        for c in made
    ]
