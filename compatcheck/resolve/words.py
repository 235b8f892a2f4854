"""The engine's own words, with the configuration's values filled in as the engine prints them."""

from __future__ import annotations

import re
from typing import Any

from compatcheck.resolve.configuration import FIELDS

_PLACE = re.compile(r"\{([a-z_.]+)\}")
_FIELDS = frozenset(FIELDS)
_SCALAR = r"[^\s,;]{1,80}?"
"""A field's value as it is printed: one word, so that it does not reach from one reason of a list into the next."""
_ANYTHING = r"\S.{0,300}?"


def fill(template: str, facts: Any, extra: dict[str, Any] | None = None) -> str:
    """Replace `{field}` by the field's value as Python prints it; `{sm.major}` and `{sm.minor}` split the SM.

    Names that are neither a field nor in `extra` stay as they are: some texts contain braces of their own.
    """
    if "{" not in template:
        return template

    def value(match: re.Match[str]) -> str:
        name = match[1]
        if extra and name in extra:
            return str(extra[name])
        if name in ("sm.major", "sm.minor"):
            major, _, minor = str(facts.sm).partition(".")
            return major if name == "sm.major" else minor
        return str(getattr(facts, name)) if hasattr(facts, name) else match[0]

    return _PLACE.sub(value, template)


def placeholders(template: str) -> list[str]:
    """Return the names a template asks for."""
    return _PLACE.findall(template) if "{" in template else []


def asked_fields(names: list[str]) -> frozenset[str]:
    """Return the configuration fields among the names that a template asks for: `sm.major` asks for `sm`."""
    return frozenset(field for name in names if (field := name.partition(".")[0]) in _FIELDS)


def as_regex(words: str) -> re.Pattern[str]:
    """Return a pattern that matches these words in a log: a regular expression if written /so/, placeholders free."""
    if len(words) > 2 and words.startswith("/") and words.endswith("/"):
        return re.compile(words[1:-1], re.DOTALL)
    split = _PLACE.split(words)
    parts, names = [re.escape(part) for part in split[::2]], split[1::2]
    while names and not parts[0]:  # what stands before the first known word could be anything
        del parts[0], names[0]
    places = [_SCALAR if asked_fields([name]) else _ANYTHING for name in names]
    return re.compile("".join(map("".join, zip(parts, [*places, ""], strict=True))), re.DOTALL)
