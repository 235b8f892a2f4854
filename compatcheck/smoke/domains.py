"""The values each axis of a kernel is tried with: what the matrix grants, plus what its refusals name."""

from __future__ import annotations

from typing import Any

from compatcheck.matrix.model import Condition, Grants, Kernel

HEADS = (128, 64, 256, 512, 192, 96, 80, 576, 8, 1024)
PAGES = (16, 1, 32, 64, 128, 8, 5)
GROUPS = (4, 1, 8)
DTYPES = ("bfloat16", "float16", "fp8_e4m3", "fp8_e5m2", "nvfp4", "float32")
QUERY_DTYPES = ("bfloat16", "float16", "fp8_e4m3", "fp8_e5m2", "float32")
LAYOUTS = ("NHD", "HND")
SAME = "same"
"""KV dtype of a grant that means the query's own."""

USUAL_HEADS = (128, 64, 256, 512)
USUAL_PAGES = (16, 1, 32, 64)


def granted(grants: Grants, usual: tuple[int, ...]) -> list[int]:
    """Return the usual values, then whatever else the grants list by name."""
    values = list(usual)
    for grant in grants:
        for value in grant.values if isinstance(grant.values, list) else [grant.values]:
            if isinstance(value, int) and not isinstance(value, bool) and value not in values:
                values.append(value)
    return values


def granted_kv(kernel: Kernel) -> list[str]:
    """Return the KV dtypes named by the grants, `same` among them; every dtype where a grant is no list."""
    values: list[str] = []
    for grant in kernel.kv_dtypes:
        named = grant.values if isinstance(grant.values, list) else [grant.values]
        if isinstance(grant.values, dict):
            named = list(DTYPES)
        values += [value for value in named if isinstance(value, str) and value not in values]
    return values


_ADVISORY_FIELDS = {"kv_dtype": "kv_cache_dtype", "page_size": "block_size", "q_dtype": "dtype"}


def advised(condition: Condition, field: str) -> list[Any]:
    """Return the values that an advisory's condition (in a configuration's fields) names for a kernel's axis."""
    return mentioned(condition, _ADVISORY_FIELDS.get(field, field))


def mentioned(condition: Condition, field: str) -> list[Any]:
    """Return the values that a condition names for a field, at any depth, in order."""
    found: list[Any] = []
    for key, constraint in condition.items():
        if key in ("all_of", "any_of"):
            for nested in constraint:
                found += mentioned(nested, field)
        elif key == "not" and isinstance(constraint, dict):
            found += mentioned(constraint, field)
        elif key == field:
            found += _values(constraint)
    return [value for i, value in enumerate(found) if value not in found[:i]]


def _values(constraint: Any) -> list[Any]:
    if isinstance(constraint, list):
        return list(constraint)
    if not isinstance(constraint, dict):
        return [constraint]
    found: list[Any] = []
    for key, operand in constraint.items():
        if key in ("in", "not"):
            found += operand if isinstance(operand, list) else [operand]
        elif key in ("gt", "lt", "ge", "le") and isinstance(operand, int):
            found += [operand, operand + 16, operand - 16, operand + 1, max(operand - 1, 1)]
        elif key == "multiple_of" and isinstance(operand, int):
            found += [operand, operand + operand // 2 if operand > 1 else 1]
    return [value for value in found if not isinstance(value, int) or value > 0]
