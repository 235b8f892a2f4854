"""Privacy: no path of somebody's machine, no internal host, no mail address in a file that is published."""

from __future__ import annotations

import re

from compatcheck.matrix.errors import Problem
from compatcheck.matrix.lint.context import Context

CODE = "privacy"
_PATTERNS = (
    (re.compile(r"(?<![\w.:/@-])/(work|root|home|Users|mnt|data|workspace|scratch)/[\w.-]+"), "a path of one machine"),
    (re.compile(r"\b[A-Za-z]:\\\\?Users\\", re.IGNORECASE), "a path of one machine"),
    (
        re.compile(r"\b(localhost|[\w-]+\.(internal|corp|lan|local|intranet))\b(?!\()"),
        "a host that nobody else can reach",
    ),
    (re.compile(r"\b(10|127|192\.168|172\.(1[6-9]|2[0-9]|3[01]))(\.[0-9]{1,3}){2,3}\b(?=:|/|$)"), "a private address"),
    (re.compile(r"\b[\w.+-]+@[\w-]+\.[a-z]{2,}\b"), "a mail address"),
)


def check(context: Context) -> list[Problem]:
    """Return texts that hold what only one machine or person has."""
    problems: list[Problem] = []
    for path, text in context.texts():
        for pattern, what in _PATTERNS:
            found = pattern.search(text)
            if found:
                problems.append(context.problem(path, CODE, f"{found[0]!r} looks like {what}; a matrix is published"))
    return problems
