"""Ids: written the way their kind is written, so that one string serves CLI, docs anchors, SARIF and suppressions."""

from __future__ import annotations

import re

from compatcheck.matrix.errors import Problem
from compatcheck.matrix.lint.context import Context
from compatcheck.matrix.model import JointRule, Refusal, Rule, SelectorCheck
from compatcheck.matrix.yaml_reader import Path

CODE = "id"
_KEBAB = (re.compile(r"[a-z0-9]+(-[a-z0-9]+)*"), "kebab-case, such as nvfp4-kv-mla")
_DOTTED = (re.compile(r"[a-z0-9_]+(\.[a-z0-9_]+)+"), "dotted lower case, such as flashinfer.fa2.paged_prefill")
_SNAKE = (re.compile(r"[a-z][a-z0-9_]*"), "snake_case, such as trtllm_decode")
_UPPER = (re.compile(r"[A-Z][A-Z0-9_]*"), "the engine's own upper-case name, such as FLASH_ATTN")


def check(context: Context) -> list[Problem]:
    """Return ids that are not written like their kind."""
    problems: list[Problem] = []

    def judge(path: Path, id_: str, kind: tuple[re.Pattern[str], str]) -> None:
        if not kind[0].fullmatch(id_):
            problems.append(context.problem(path, CODE, f"{id_!r} is not {kind[1]}"))

    sections: list[tuple[tuple[str, ...], tuple[re.Pattern[str], str]]] = [
        (("rules",), _KEBAB),
        (("kernels",), _DOTTED),
        (("kv_cache_dtypes",), _SNAKE),
        (("engines",), _SNAKE),
    ]
    for engine in context.names("engines"):
        sections += [
            (("engines", engine, "facts"), _SNAKE),
            (("engines", engine, "routes"), _DOTTED),
            (("engines", engine, "backends"), _UPPER),
            (("engines", engine, "mla_prefill_backends"), _UPPER),
        ]
    for at, kind in sections:
        for name in context.names(*at):
            judge((*at, name), name, kind)
    coded: tuple[type[JointRule | Refusal | SelectorCheck], ...] = (JointRule, Refusal, SelectorCheck)
    for model in coded:
        for path, record in context.records(model):
            judge((*path, "code"), record.code, _KEBAB)
    for path, rule in context.records(Rule):
        if rule.subject is not None:
            judge((*path, "subject"), rule.subject, _KEBAB)
    return problems
