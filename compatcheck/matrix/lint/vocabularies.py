"""Plain lists of names: dtypes, KV-cache dtypes, attention types, layouts, MLA dimensions and selector questions.

Why: the engine program is built from these lists; a name that nothing knows refuses everything, or stops the build.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from fractions import Fraction

from compatcheck.matrix.errors import Problem
from compatcheck.matrix.lint.context import Context
from compatcheck.matrix.lint.vocabulary import KERNEL_DTYPES, LAYOUTS
from compatcheck.matrix.model import (
    Backend,
    BackendChange,
    BackendFacts,
    Kernel,
    KvCacheDtype,
    KvDtypeList,
    SelectorCheck,
)
from compatcheck.matrix.yaml_reader import Path
from compatcheck.resolve.backend import FLAG_OF_FIELD
from compatcheck.resolve.normalise import ATTN_TYPES, DTYPES

CODE = "name"
SELECTOR_CHECKS = frozenset(
    {
        *FLAG_OF_FIELD,
        "mla",
        "non_mla",
        "sparse",
        "non_sparse",
        "non_causal_dcp",
        "sm",
        "dtype",
        "attn_type",
        "head_size",
        "kv_cache_dtype",
        "block_size",
        "dependency",
        "imports",
        "mla_dimensions",
        "joint_rules",
    }
)
"""Questions that `compatcheck.resolve.backend.BackendProgram` can ask."""


def check(context: Context) -> list[Problem]:
    """Return names that are not in the list that they belong to."""
    problems: list[Problem] = []
    for model in (Backend, BackendChange, BackendFacts):
        for path, facts in context.records(model):
            problems += _unknown(context, (*path, "dtypes"), facts.dtypes or [], DTYPES)
            problems += _unknown(context, (*path, "attn_types"), facts.attn_types or [], ATTN_TYPES)
            for index, triple in enumerate(facts.mla_dimensions or []):
                if len(triple) != 3:
                    message = "expected [qk_nope_head_dim, qk_rope_head_dim, v_head_dim]"
                    problems.append(context.problem((*path, "mla_dimensions", index), CODE, message))
    for path, accepted in context.records(KvDtypeList):
        problems += _unknown(context, (*path, "values"), accepted.values, context.names("kv_cache_dtypes"))
    for path, kernel in context.records(Kernel):
        problems += _unknown(context, (*path, "q_dtypes"), kernel.q_dtypes, KERNEL_DTYPES)
        problems += _unknown(context, (*path, "o_dtypes"), kernel.o_dtypes, KERNEL_DTYPES)
        problems += _unknown(context, (*path, "layouts"), kernel.layouts, LAYOUTS)
    for path, question in context.records(SelectorCheck):
        problems += _unknown(context, (*path, "check"), question.check, SELECTOR_CHECKS)
    for path, dtype in context.records(KvCacheDtype):
        if dtype.bits is not None and not _is_fraction(dtype.bits):
            message = f"{dtype.bits!r} is not a number of bits such as '16' or '9/2'"
            problems.append(context.problem((*path, "bits"), CODE, message))
    return problems


def _unknown(context: Context, path: Path, found: list[str] | str, known: Iterable[str]) -> list[Problem]:
    names = sorted(known)
    items = [(path, found)] if isinstance(found, str) else [((*path, i), name) for i, name in enumerate(found)]
    problems: list[Problem] = []
    for place, name in items:
        if name not in names:
            near = difflib.get_close_matches(name, names, n=1)
            hint = f"did you mean {near[0]}?" if near else f"known: {', '.join(names)}"
            problems.append(context.problem(place, CODE, f"unknown name {name!r}; {hint}"))
    return problems


def _is_fraction(text: str) -> bool:
    try:
        return Fraction(text) > 0
    except (ValueError, ZeroDivisionError):
        return False
