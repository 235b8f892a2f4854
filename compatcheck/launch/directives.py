"""Comments for compatcheck in launch files: facts for the launches below, and suppressions where they stand.

# compatcheck: sm=9.0 vllm=0.33.0
# compatcheck: ignore[nvfp4-kv-mla] the gate is patched in our fork
"""

from __future__ import annotations

import re

import msgspec

from compatcheck.resolve.configuration import FIELDS

_COMMENT = re.compile(r"(?:#|//|<!--)\s*compatcheck:\s+(?P<body>.*?)\s*(?:-->)?\s*$")
_IGNORE = re.compile(r"ignore\[(?P<codes>[^\]]*)\]\s*(?P<reason>.*)$")
_PAIR = re.compile(r"(?P<name>[A-Za-z_]+)=(?P<value>\"[^\"]*\"|'[^']*'|\S+)")
ALIASES = {"vllm": "engine_version", "gpu": "sm", "flashinfer": "flashinfer_version", "torch": "torch_version"}
_STATED = frozenset({"sm", "engine_version", "flashinfer_version", "torch_version", "cuda_version"})


class Stated(msgspec.Struct, frozen=True):
    """Facts that a comment states, from its line on."""

    line: int
    facts: dict[str, str]


class Suppression(msgspec.Struct):
    """Codes that a comment silences: on its own line, or on the line below where it stands alone."""

    line: int
    column: int
    codes: tuple[str, ...]
    reason: str
    target: int
    used: set[str] = msgspec.field(default_factory=set)


class BadDirective(msgspec.Struct, frozen=True):
    """A comment that is neither."""

    line: int
    column: int
    message: str


class Directives(msgspec.Struct):
    """What the comments of one file say."""

    stated: list[Stated] = msgspec.field(default_factory=list)
    suppressions: list[Suppression] = msgspec.field(default_factory=list)
    bad: list[BadDirective] = msgspec.field(default_factory=list)

    def facts_at(self, line: int) -> dict[str, str]:
        """Return the facts stated for a launch at a line: later comments replace earlier ones, name by name."""
        facts: dict[str, str] = {}
        for stated in self.stated:
            if stated.line <= line:
                facts |= stated.facts
        return facts

    def silences(self, code: str, line: int, launch_line: int) -> bool:
        """Return whether a finding is silenced, and note which comment did it."""
        for suppression in self.suppressions:
            near = suppression.target <= launch_line <= suppression.target + 1
            if code in suppression.codes and (line in (suppression.target, suppression.line) or near):
                suppression.used.add(code)
                return True
        return False


def read_directives(text: str, *, python: bool = False) -> Directives:
    """Return the directives of a file. In Python only comments count, not what stands in strings."""
    directives = Directives()
    lines = text.splitlines()
    comments = _python_comments(text) if python else None
    for number, line in enumerate(lines, start=1):
        match = _COMMENT.search(line)
        if match is None or (comments is not None and (number, match.start()) not in comments):
            continue
        column = match.start() + 1
        ignore = _IGNORE.match(match["body"])
        if ignore is not None:
            alone = not line[: match.start()].strip()
            target = _next_code(lines, number) if alone else number
            codes = tuple(code.strip() for code in ignore["codes"].split(",") if code.strip())
            directives.suppressions.append(Suppression(number, column, codes, ignore["reason"].strip(), target))
            if not codes:
                directives.bad.append(BadDirective(number, column, "ignore[] names no code"))
            continue
        _stated(directives, match["body"], number, column)
    return directives


def _python_comments(text: str) -> set[tuple[int, int]] | None:
    """Return (line, column from 0) of every comment; None where the text is not Python."""
    import io
    import tokenize

    try:
        tokens = list(tokenize.generate_tokens(io.StringIO(text).readline))
    except (tokenize.TokenError, SyntaxError, ValueError):
        return None
    return {token.start for token in tokens if token.type == tokenize.COMMENT}


def _stated(directives: Directives, body: str, number: int, column: int) -> None:
    facts: dict[str, str] = {}
    for pair in _PAIR.finditer(body):
        name = ALIASES.get(pair["name"], pair["name"])
        if name not in _STATED:
            known = ", ".join(sorted(_STATED | ALIASES.keys()))
            what = "cannot be stated in a comment" if name in FIELDS else "is not known"
            directives.bad.append(BadDirective(number, column, f"{pair['name']} {what}; known here: {known}"))
            continue
        facts[name] = pair["value"].strip("\"'")
    if facts:
        directives.stated.append(Stated(number, facts))
    elif not _PAIR.search(body):
        message = f"neither NAME=VALUE nor ignore[CODE] reason: {body[:60]!r}"
        directives.bad.append(BadDirective(number, column, message))


def _next_code(lines: list[str], number: int) -> int:
    """Return the line of code below a comment, other comments between; a blank line ends what it is about."""
    for later in range(number, len(lines)):
        text = lines[later].strip()
        if not text:
            break
        if not text.startswith(("#", "//", "<!--")):
            return later + 1
    return number
