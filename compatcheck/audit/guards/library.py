"""Which pieces of a FlashInfer release are watched by fingerprint: what the functions do that the matrix names."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from compatcheck.audit.guards import modules
from compatcheck.audit.guards.item import Guard
from compatcheck.audit.guards.names import FUNCTIONS, Names
from compatcheck.audit.guards.reach import Reach
from compatcheck.audit.reading.source import Program

METHODS = ("__init__", "plan", "run")
DEPTH = 2


def read_guards(program: Program, symbols: Iterable[str]) -> list[Guard]:
    """Return guards of symbols such as `flashinfer.page:append_paged_kv_cache`, sorted by key.

    They are bodies, defaults and decorators of a function or of a wrapper's methods, checks of arguments, and what all
    these call.
    """
    reach = Reach(Names(program, "flashinfer"))
    homes: set[str] = set()
    for symbol in symbols:
        module, _, name = symbol.partition(":")
        homes.add(module)
        found = reach.names.find(module, name)
        if found is None:
            continue
        homes.add(found.module.name)
        group = f"kernel {symbol}"
        if isinstance(found.node, FUNCTIONS):
            reach.function(group, found.module, found.node, DEPTH, None)
        elif isinstance(found.node, ast.ClassDef):
            for method in METHODS:
                held = reach.names.method(found, method)
                if held is not None:
                    reach.function(group, held[0].module, held[1], DEPTH, held[0])
            made = [*found.node.decorator_list, *(keyword.value for keyword in found.node.keywords)]
            if made:
                reach.put(group, found.module, f"{found.name} <made by>", found.node.lineno, made)
        for statement in found.module.touching.get(found.name, []):
            if not isinstance(statement, (*FUNCTIONS, ast.ClassDef, ast.ImportFrom, ast.Import)):
                reach.put(group, found.module, f"{found.name} <changed>", statement.lineno, [statement])
    for module in modules.imported_with(program, homes):
        parsed = reach.names.module(module)
        if parsed is not None:
            modules.watch(reach, "imports and statements of modules", parsed)
    return [reach.found[key] for key in sorted(reach.found)]
