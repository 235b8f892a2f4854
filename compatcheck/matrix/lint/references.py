"""References: what an entry names exists.

Why: an order that names a backend which is not there, or a route to a kernel without facts, answers as if it had been
looked up. `extends` must end somewhere.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator

from compatcheck.matrix.errors import Problem
from compatcheck.matrix.lint.context import Context, Severity
from compatcheck.matrix.model import Backend, Kernel, PriorityCase, Route, RouteCase, Rule
from compatcheck.matrix.yaml_reader import Path
from compatcheck.resolve.verdict import BITES_ORDER

CODE = "reference"
_PHASES = ("kv_write", "prefill", "decode")
Found = tuple[Path, str, Severity]


def check(context: Context) -> list[Problem]:
    """Return names of backends, routes, kernels, libraries and moments that are not in the matrix."""
    found = [*_backends(context), *_orders(context), *_routes(context), *_kernels(context), *_moments(context)]
    return [context.problem(path, CODE, message, severity) for path, message, severity in found]


def _missing(what: str, name: str, known: list[str], path: Path) -> Iterator[Found]:
    if name not in known:
        near = difflib.get_close_matches(name, known, n=1)
        hint = f"; did you mean {near[0]}?" if near else ""
        yield path, f"there is no {what} {name!r}{hint}", "error"


def _backends(context: Context) -> Iterator[Found]:
    for path, backend in context.records(Backend):
        siblings = context.names(*[str(part) for part in path[:-1]])
        if backend.extends is not None:
            yield from _missing("backend", backend.extends, siblings, (*path, "extends"))
            if _circular(context, path):
                yield (*path, "extends"), "extends itself in the end; one backend must state its facts", "error"
        for index, member in enumerate(backend.members):
            yield from _missing("backend", member, siblings, (*path, "members", index))


def _circular(context: Context, path: Path) -> bool:
    parents = {p[-1]: b.extends for p, b in context.records(Backend) if p[:-1] == path[:-1]}
    seen = {path[-1]}
    parent = parents.get(path[-1])
    while parent is not None:
        if parent in seen:
            return True
        seen.add(parent)
        parent = parents.get(parent)
    return False


def _orders(context: Context) -> Iterator[Found]:
    for path, case in context.records(PriorityCase):
        linear = path[2] == "linear"
        section = "mla_prefill_backends" if path[2] == "mla_prefill_priorities" else "backends"
        known = context.names("engines", str(path[1]), *(("linear", "kernels") if linear else (section,)))
        for index, name in enumerate(case.order):
            here = (*path, "order", index)
            yield from _missing("linear kernel" if linear else "backend", name, known, here)
            if name in case.order[:index]:
                yield here, f"{name} is already in this order", "error"


def _routes(context: Context) -> Iterator[Found]:
    for path, case in context.records(RouteCase):
        known = context.names("engines", str(path[1]), "routes")
        yield from _missing("route", case.route, known, (*path, "route"))
    kernels = context.names("kernels")
    told: set[str] = set()
    phases = {path[-1]: kernel.phase for path, kernel in context.records(Kernel)}
    for path, route in context.records(Route):
        for phase in _PHASES:
            id_ = getattr(route, phase)
            if id_ is None:
                continue
            if id_.partition(".")[0] in context.names("engines") and id_ not in kernels:
                if id_ not in told:
                    message = f"{id_} is the engine's own and not among the kernels: nothing is stated of it"
                    yield (*path, phase), message, "warning"
                told.add(id_)
                continue
            yield from _missing("kernel", id_, kernels, (*path, phase))
            if id_ in phases and (phases[id_] == "write") != (phase == "kv_write"):
                yield (*path, phase), f"{id_} is a kernel for {phases[id_]}, not for {phase}", "error"


def _kernels(context: Context) -> Iterator[Found]:
    kernels, libraries = context.names("kernels"), context.names("libraries")
    for path, kernel in context.records(Kernel):
        yield from _missing("library", kernel.library, libraries, (*path, "library"))
    linear = [name for e in context.names("engines") for name in context.names("engines", e, "linear", "kernels")]
    for path, rule in context.records(Rule):
        known = [*linear, *kernels] if rule.kind == "linear" else kernels
        for index, id_ in enumerate(rule.kernels):
            yield from _missing("kernel", id_, known, (*path, "kernels", index))


def _moments(context: Context) -> Iterator[Found]:
    for path, rule in context.records(Rule):
        if rule.bites not in BITES_ORDER:
            for engine in context.names("engines"):
                known = context.names("engines", engine, "facts")
                yield from _missing(f"derived fact of {engine}", rule.bites, known, (*path, "bites"))
