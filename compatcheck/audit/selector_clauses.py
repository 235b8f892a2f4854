"""The clauses of the selector's `validate_configuration`: which question each one asks, in which words it refuses."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import msgspec

KNOWN: dict[str, tuple[str, ...]] = {
    "head_size": ("not cls.supports_head_size(head_size)",),
    "dtype": ("not cls.supports_dtype(dtype)",),
    "kv_cache_dtype": ("not cls.supports_kv_cache_dtype(kv_cache_dtype)",),
    "block_size": ("not cls.supports_block_size(block_size)",),
    "use_mm_prefix": ("use_mm_prefix and (not cls.supports_mm_prefix())",),
    "mla": ("use_mla != cls.is_mla() and use_mla",),
    "non_mla": ("use_mla != cls.is_mla() and not use_mla",),
    "has_sink": ("has_sink and (not cls.supports_sink())",),
    "sparse": ("use_sparse != cls.is_sparse() and use_sparse",),
    "non_sparse": ("use_sparse != cls.is_sparse() and not use_sparse",),
    "use_per_head_quant_scales": ("use_per_head_quant_scales and (not cls.supports_per_head_quant_scales())",),
    "sm": ("not cls.supports_compute_capability(device_capability)",),
    "attn_type": ("not cls.supports_attn_type(attn_type)",),
    "sliding_window": ("has_sliding_window and (not cls.supports_sliding_window())",),
    "use_rswa": ("use_rswa and (not cls.supports_rswa())",),
    "use_non_causal": ("use_non_causal and (not cls.supports_non_causal())",),
    "non_causal_dcp": ("use_mla and use_non_causal and use_dcp and (not cls.supports_non_causal_dcp())",),
    "use_batch_invariant": ("use_batch_invariant and (not cls.supports_batch_invariance())",),
    "use_kv_connector": ("use_kv_connector and (not cls.supports_kv_connector())",),
    "use_pcp": ("use_pcp and (not cls.supports_pcp())",),
    "use_dcp": ("use_dcp and (not cls.supports_dcp())",),
    "use_adaptive_verification": ("use_adaptive_verification and (not cls.supports_device_cpu_query_lens_mismatch())",),
    "joint_rules": ("combination_reason is not None",),
}
"""Check of the matrix's selector -> the condition under which the engine refuses."""

_ASKED = "head_size, dtype, kv_cache_dtype, block_size, use_mla, has_sink, use_sparse"
_FRAME = (
    "invalid_reasons = []",
    "return invalid_reasons",
    f"combination_reason = cls.supports_combination({_ASKED}, device_capability)",
    f"combination_reason = cls.supports_combination({_ASKED}, use_mm_prefix, device_capability)",
)
_FRAME_TREES = frozenset(ast.dump(ast.parse(text).body[0]) for text in _FRAME if not text.startswith("return")) | {
    ast.dump(ast.Return(ast.Name("invalid_reasons", ast.Load())))
}
_KNOWN_TREES = {ast.dump(ast.parse(text, mode="eval").body): check for check, texts in KNOWN.items() for text in texts}


class Clause(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One clause. `check` is None where its condition, or what it does, is none that is known."""

    check: str | None
    words: str | None
    text: str
    file: str
    line: int


def clauses(function: ast.FunctionDef, file: str) -> list[Clause]:
    """Return the clauses of a `validate_configuration`, in order."""
    found: list[Clause] = []
    for condition, statement in _leaves(function.body, None):
        if condition is None and (ast.dump(statement) in _FRAME_TREES or _docstring(statement)):
            continue
        check = _KNOWN_TREES.get(ast.dump(condition)) if condition is not None else None
        words = _words(statement)
        text = ast.unparse(statement) if condition is None else f"if {ast.unparse(condition)}: {ast.unparse(statement)}"
        if words is None and check != "joint_rules":
            check = None
        found.append(Clause(check=check, words=words, text=" ".join(text.split()), file=file, line=statement.lineno))
    return found


def _leaves(body: list[ast.stmt], outer: ast.expr | None) -> Iterator[tuple[ast.expr | None, ast.stmt]]:
    for statement in body:
        if isinstance(statement, ast.If):
            yield from _leaves(statement.body, _and(outer, statement.test))
            yield from _leaves(statement.orelse, _and(outer, ast.UnaryOp(ast.Not(), statement.test)))
        else:
            yield outer, statement


def _and(left: ast.expr | None, right: ast.expr) -> ast.expr:
    return right if left is None else ast.BoolOp(ast.And(), [left, right])


def _docstring(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def _words(statement: ast.stmt) -> str | None:
    """Return the text that `invalid_reasons.append(...)` appends, with `{name}` for values; None for anything else."""
    if not (
        isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call) and len(statement.value.args) == 1
    ):
        return None
    if ast.unparse(statement.value.func) != "invalid_reasons.append":
        return None
    value = statement.value.args[0]
    if isinstance(value, ast.Constant) and isinstance(value.value, str):
        return value.value
    if isinstance(value, ast.JoinedStr):
        return "".join(
            str(p.value) if isinstance(p, ast.Constant) else "{" + ast.unparse(p.value) + "}"
            for p in value.values
            if isinstance(p, (ast.Constant, ast.FormattedValue))
        )
    return None
