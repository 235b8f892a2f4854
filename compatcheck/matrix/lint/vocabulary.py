"""What conditions may ask about in each part of a matrix: fields, their types, the values that they can have."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

from msgspec import inspect as types

from compatcheck.matrix.lint.context import Context
from compatcheck.matrix.model import FactCase
from compatcheck.matrix.sm import family
from compatcheck.matrix.yaml_reader import Path
from compatcheck.resolve.computed import HEADS_PER_KV, MLA_PREFILL, NO_PREFILL, ROUTE
from compatcheck.resolve.configuration import LINEAR_SCHEMES, NULLABLE, VERSION_FIELDS, Configuration
from compatcheck.resolve.kernel import KernelCell
from compatcheck.resolve.normalise import ATTN_TYPES, DTYPES

KERNEL_DTYPES = frozenset({*DTYPES, "fp8_e4m3", "fp8_e5m2", "nvfp4"})
"""Element types of a kernel's query, cache and output."""

DIRECT = "direct"
"""The engine of rules about calling a library without one: never true of a configuration, found by its words."""

LAYOUTS = frozenset({"NHD", "HND"})


class Field(NamedTuple):
    """One field: the Python types its values have, and all of them where they are known."""

    kinds: frozenset[type]
    values: frozenset[Any] | None
    nullable: bool
    """Whether its absence is an answer."""


class Vocabulary(NamedTuple):
    """Fields, derived facts and SMs that a condition may name."""

    fields: dict[str, Field]
    facts: dict[str, Field]
    later: frozenset[str]
    """Derived facts that are declared further down and can therefore not be used here."""
    sms: frozenset[str]
    families: frozenset[str]


def vocabulary_at(context: Context, path: Path) -> Vocabulary:
    """Return what a condition at this path may name."""
    in_facts = path[0] == "engines" and len(path) > 3 and path[2] == "facts"
    scope = path[:4] if in_facts else path[:2] if path[0] == "engines" else path[:1]
    found = context.kept.get(scope)
    if found is None:
        found = context.kept[scope] = _vocabulary(context, scope)
    assert isinstance(found, Vocabulary)
    return found


def _vocabulary(context: Context, path: Path) -> Vocabulary:
    sms = frozenset(context.names("sms"))
    families = frozenset(family(sm) for sm in sms)
    if path[0] == "kernels":
        return Vocabulary(_cell_fields(context), {}, frozenset(), sms, families)
    engines = [str(path[1])] if path[0] == "engines" else context.names("engines")
    facts: dict[str, Field] = {}
    later: frozenset[str] = frozenset()
    for index, engine in enumerate(engines):
        names = context.names("engines", engine, "facts")
        if path[0] == "engines" and len(path) > 3 and path[2] == "facts":
            at = names.index(str(path[3]))
            names, later = names[:at], frozenset(names[at:])
        of_engine = {name: _fact(context, engine, name) for name in names}
        facts = of_engine if index == 0 else {name: f for name, f in facts.items() if name in of_engine}
    if path[0] == "rules":
        facts |= _computed(context)
    return Vocabulary(_configuration_fields(context), facts, later, sms, families)


def _computed(context: Context) -> dict[str, Field]:
    """The facts that only rules may ask, since they follow from everything else."""
    engines = context.names("engines")
    routes = {name for e in engines for name in context.names("engines", e, "routes")}
    prefill = {name for e in engines for name in context.names("engines", e, "mla_prefill_backends")}
    values = {ROUTE: routes, MLA_PREFILL: {NO_PREFILL, *prefill}}
    named = {name: Field(frozenset({str}), frozenset(known), nullable=True) for name, known in values.items()}
    return {**named, HEADS_PER_KV: Field(frozenset({int}), None, nullable=True)}


def _configuration_fields(context: Context) -> dict[str, Field]:
    backends = {name for e in context.names("engines") for name in context.names("engines", e, "backends")}
    values: dict[str, frozenset[Any]] = {
        "engine": frozenset({*context.names("engines"), DIRECT}),
        "backend": frozenset(backends),
        "dtype": KERNEL_DTYPES,  # of a rule about a library called without an engine, the query's
        "kv_cache_dtype": frozenset(context.names("kv_cache_dtypes")),
        "attn_type": frozenset(ATTN_TYPES),
        "linear": frozenset(LINEAR_SCHEMES),
        "linear_backend": frozenset(
            name for e in context.names("engines") for name in context.names("engines", e, "linear", "options")
        ),
    }
    return _fields(Configuration, values, NULLABLE)


def _cell_fields(context: Context) -> dict[str, Field]:
    kv = KERNEL_DTYPES | frozenset(context.names("kv_cache_dtypes"))
    values: dict[str, frozenset[Any]] = {
        "q_dtype": KERNEL_DTYPES,
        "kv_dtype": kv,
        "o_dtype": KERNEL_DTYPES,
        "layout": LAYOUTS,
    }
    return _fields(KernelCell, values, nullable=frozenset())


@lru_cache(maxsize=8)
def _type_info(model: type) -> types.Type:
    return types.type_info(model)


def _fields(model: type, values: dict[str, frozenset[Any]], nullable: frozenset[str]) -> dict[str, Field]:
    info = _type_info(model)
    assert isinstance(info, types.StructType)
    fields: dict[str, Field] = {}
    for field in info.fields:
        options = field.type.types if isinstance(field.type, types.UnionType) else (field.type,)
        python: dict[type, type] = {types.StrType: str, types.IntType: int, types.BoolType: bool}
        kinds = frozenset(python[type(option)] for option in options if type(option) in python)
        fields[field.name] = Field(kinds, values.get(field.name), field.name in nullable)
    for name in VERSION_FIELDS & set(fields):
        fields[name] = Field(frozenset({str}), None, nullable=False)
    return fields


def _fact(context: Context, engine: str, name: str) -> Field:
    at = ("engines", engine, "facts", name)
    values = frozenset(case.value for path, case in context.records(FactCase) if path[:4] == at)
    return Field(frozenset(type(value) for value in values if value is not None), values, nullable=True)
