"""Words: placeholders name fields, and regular expressions compile and match something in particular.

Why: a misspelt placeholder is printed with its braces, and a pattern that matches nothing, or everything, makes
`explain` find the wrong rule and the smoke test accept any error as the declared refusal.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator

from compatcheck.matrix.errors import Problem
from compatcheck.matrix.lint.context import Context
from compatcheck.matrix.lint.regexes import slow
from compatcheck.matrix.model import Backend, BackendChange, JointRule, Refusal, Rule, SelectorCheck
from compatcheck.matrix.yaml_reader import Path
from compatcheck.resolve.configuration import FIELDS
from compatcheck.resolve.words import placeholders

CODE = "words"
_REGEX_SIGNS = re.compile(r"[\\*+|^$]|\(\?")
_SM_PARTS = ("sm.major", "sm.minor")


def check(context: Context) -> list[Problem]:
    """Return placeholders that stand for nothing, and unusable regular expressions."""
    found: list[tuple[Path, str]] = []
    for path, joint in context.records(JointRule):
        found += _placeholders((*path, "words"), joint.words)
        for index, words in enumerate(joint.more_words):
            found += _rule_words((*path, "more_words", index), words)
    for path, question in context.records(SelectorCheck):
        found += _placeholders((*path, "words"), question.words, "supported_dimensions")
    for model in (Backend, BackendChange):
        for path, facts in context.records(model):
            found += _placeholders((*path, "unimportable"), facts.unimportable or "")
    for path, rule in context.records(Rule):
        for index, words in enumerate(rule.words):
            found += _rule_words((*path, "words", index), words)
    for path, refusal in context.records(Refusal):
        found += _pattern((*path, "match"), refusal.match)
        if not refusal.exception.isidentifier():
            found.append(((*path, "exception"), f"{refusal.exception!r} is not the name of an exception class"))
    for engine in context.names("engines"):
        for field in ("forced_words", "none_words"):
            if field in context.names("engines", engine):
                where: Path = ("engines", engine, field)
                found += _placeholders(where, str(context.raw(where)), "reasons")
    return [context.problem(path, CODE, message) for path, message in found]


def _rule_words(path: Path, words: str) -> Iterator[tuple[Path, str]]:
    if not words.strip():
        yield path, "no words are given; leave the item out"
    elif len(words) > 2 and words.startswith("/") and words.endswith("/"):
        yield from _pattern(path, words[1:-1])
    elif words.startswith("/") != words.endswith("/") and _REGEX_SIGNS.search(words):
        yield path, "a regular expression stands between two slashes; one is missing"
    else:
        yield from _placeholders(path, words)


def _pattern(path: Path, pattern: str) -> Iterator[tuple[Path, str]]:
    try:
        compiled = re.compile(pattern, re.DOTALL)
    except re.error as error:
        yield path, f"not a regular expression: {error}"
        return
    endless = slow(pattern)
    if endless:
        yield path, f"{pattern!r} may take for ever on a long log: {endless}; bound it, such as {{0,80}}"
        return
    if compiled.search("") and compiled.search("\u241f"):
        yield path, f"{pattern!r} matches every text; an error without a text is ^$"


def _placeholders(path: Path, words: str, *extra: str) -> Iterator[tuple[Path, str]]:
    known = (*FIELDS, *_SM_PARTS, *extra)
    for name in placeholders(words):
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            hint = f"; did you mean {{{near[0]}}}?" if near else ""
            yield path, f"{{{name}}} is not a field that could be filled in{hint}"
