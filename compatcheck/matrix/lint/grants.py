"""Grants: every value that an entry accepts is one that exists, of the field's type.

Why: `nvfp4_4over6` misspelt in a grant is a dtype that is refused for no reason that anybody will find.
"""

from __future__ import annotations

from collections.abc import Iterator

from compatcheck.matrix.errors import Problem
from compatcheck.matrix.lint.constraints import Found, constraint_problems
from compatcheck.matrix.lint.context import Context
from compatcheck.matrix.lint.vocabulary import KERNEL_DTYPES, Field, vocabulary_at
from compatcheck.matrix.model import Grant, Kernel
from compatcheck.matrix.yaml_reader import Path

CODE = "grant"
_FIELD_OF = {
    "kv_cache_dtypes": "kv_cache_dtype",
    "head_sizes": "head_size",
    "kv_dtypes": "kv_dtype",
    "page_sizes": "page_size",
}
_SIZE = Field(frozenset({int}), None, nullable=False)


def check(context: Context) -> list[Problem]:
    """Return grants of values that the field never has."""
    problems: list[Problem] = []
    for path, grant in context.records(Grant):
        found = _values(context, path, grant)
        problems += [context.problem(place, CODE, message) for place, message in found]
    for path, kernel in context.records(Kernel):
        for field, bounds in (("tolerance", kernel.tolerance), ("query_tolerance", kernel.query_tolerance)):
            for key in bounds:
                if key not in KERNEL_DTYPES:
                    message = f"{key!r} is not a kernel dtype: {', '.join(sorted(KERNEL_DTYPES))}"
                    problems.append(context.problem((*path, field, key), CODE, message))
    return problems


def _values(context: Context, path: Path, grant: Grant) -> Iterator[Found]:
    here = (*path, "values")
    name = str(path[-2])
    if name == "block_sizes":
        yield from _block_sizes(grant, here)
        return
    field = vocabulary_at(context, path).fields[_FIELD_OF[name]]
    if name == "kv_dtypes" and field.values is not None:
        field = Field(field.kinds, field.values | {"same"}, field.nullable)
    yield from constraint_problems(grant.values, field, here)


def _block_sizes(grant: Grant, here: Path) -> Iterator[Found]:
    sizes = grant.values if isinstance(grant.values, list) else [grant.values]
    if any(isinstance(size, dict) for size in sizes):
        yield here, "block sizes are numbers (each accepts its multiples unless block_size_match is exact)"
        return
    yield from constraint_problems(grant.values, _SIZE, here)
    if any(isinstance(size, int) and size < 1 for size in sizes):
        yield here, "a block size is above 0"
