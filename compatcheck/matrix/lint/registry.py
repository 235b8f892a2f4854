"""The lint rules, in the order they are asked."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from compatcheck.matrix.errors import Problem
from compatcheck.matrix.lint import (
    codes,
    conditions,
    coverage,
    decision_lists,
    empty,
    forbidden_words,
    grants,
    ids,
    linear,
    negative_facts,
    privacy,
    references,
    releases,
    sms,
    sources,
    structure,
    subjects,
    unused,
    version_ranges,
    vocabularies,
    words,
)
from compatcheck.matrix.lint.context import Context


class LintRule(NamedTuple):
    """A rule: the code of its problems (`structure` has several), and its check."""

    code: str
    check: Callable[[Context], list[Problem]]


RULES: tuple[LintRule, ...] = (
    LintRule(structure.CODE, structure.check),
    LintRule(sms.CODE, sms.check),
    LintRule(vocabularies.CODE, vocabularies.check),
    LintRule(releases.CODE, releases.check),
    LintRule(empty.CODE, empty.check),
    LintRule(coverage.CODE, coverage.check),
    LintRule(references.CODE, references.check),
    LintRule(linear.CODE, linear.check),
    LintRule(conditions.CODE, conditions.check),
    LintRule(grants.CODE, grants.check),
    LintRule(decision_lists.CODE, decision_lists.check),
    LintRule(version_ranges.CODE, version_ranges.check),
    LintRule(subjects.CODE, subjects.check),
    LintRule(ids.CODE, ids.check),
    LintRule(codes.CODE, codes.check),
    LintRule(words.CODE, words.check),
    LintRule(sources.CODE, sources.check),
    LintRule(negative_facts.CODE, negative_facts.check),
    LintRule(unused.CODE, unused.check),
    LintRule(forbidden_words.CODE, forbidden_words.check),
    LintRule(privacy.CODE, privacy.check),
)
