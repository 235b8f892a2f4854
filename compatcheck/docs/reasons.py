"""Findings as the tables keep them: once each, without the values that differ within a class."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import msgspec

from compatcheck.resolve.backend import BackendProgram
from compatcheck.resolve.verdict import Finding
from compatcheck.resolve.words import fill, placeholders

_VALUES = re.compile(r"(\w+)=[^,]+")


class Reason(msgspec.Struct, frozen=True, kw_only=True):
    """One finding; `words` keeps the engine's placeholders, `found` names the fields that it looked at.

    `line` is where its entry stands, or, before it is placed, the path of the entry (see `lines`).
    """

    code: str
    name: str
    refuser: str
    bites: str
    effect: str
    backend: str | None
    kernel: str | None
    words: str | None
    required: str | None
    found: tuple[str, ...]
    why: str | None
    fix: str | None
    exception: str | None
    confirmed: str | None
    recheck: str | None
    history: tuple[str, ...]
    sources: tuple[str, ...]
    line: str | None


class Reasons:
    """Interns findings: the same reason has one number, however many cells have it. `placed` gives a path's line."""

    def __init__(self, rules: dict[str, Any], placed: Callable[[str | None], str | None] | None = None) -> None:
        self.items: list[Reason] = []
        self.paths: list[str | None] = []
        """What stood in each one's `line` before it was placed."""
        self._numbers: dict[Reason, int] = {}
        self._seen: dict[Any, int] = {}
        self._rules = rules
        self._placed = placed

    def number(self, finding: Finding, program: BackendProgram, facts: Any) -> int:
        """Return the number of a finding."""
        told = (finding.backend, finding.kernel, finding.words, finding.required, finding.actual)
        key = (finding.code, finding.bites, *told)
        known = self._seen.get(key)
        if known is None:
            known = self._seen[key] = self.add(self._reason(finding, program, facts))
        return known

    def add(self, reason: Reason) -> int:
        """Return the number of a reason, placed where it was not yet."""
        path = reason.line
        if self._placed is not None:
            reason = msgspec.structs.replace(reason, line=self._placed(path))
        known = self._numbers.setdefault(reason, len(self.items))
        if known == len(self.items):
            self.items.append(reason)
            self.paths.append(path)
        return known

    def _reason(self, finding: Finding, program: BackendProgram, facts: Any) -> Reason:
        words = self._template(finding, program, facts)
        return Reason(
            code=finding.code,
            name=words if finding.name == finding.words and words else finding.name,
            refuser=finding.refuser,
            bites=finding.bites,
            effect=finding.effect,
            backend=finding.backend,
            kernel=finding.kernel,
            words=words,
            required=finding.required,
            found=tuple(_VALUES.findall(finding.actual or "")),
            why=finding.why,
            fix=finding.fix,
            exception=finding.exception,
            confirmed=finding.confirmed,
            recheck=finding.recheck,
            history=finding.history,
            sources=tuple(source.ref for source in finding.sources),
            line=finding.line,
        )

    def _template(self, finding: Finding, program: BackendProgram, facts: Any) -> str | None:
        """Return the words with their placeholders, where they have some."""
        if finding.words is None:
            return None
        templates = [check.words for check in program.checks if check.code == finding.code]
        rule = self._rules.get(finding.code)
        templates += rule.words if rule else []
        for template in templates:
            if placeholders(template) and fill(template, facts) == finding.words:
                return template
        return finding.words


def without_values(text: str | None) -> str | None:
    """Return 'K runs with head_size=80' as 'K runs with this head_size': the values differ within a class."""
    return _VALUES.sub(r"this \1", text) if text else text
