"""What a shell's text is made of: names, expansions, and the placeholders that documentation writes into commands."""

from __future__ import annotations

import re

UNCLOSED = "\u2026 (the quote is not closed)"
"""Ends a word whose quote nothing closes."""
ELLIPSES = frozenset({"...", "\u2026", "[...]", "[options]", "[OPTIONS]"})
HEREDOC = re.compile(r"(?<!<)<<(?!<)(-?)[ \t]*(?:'([^'\n]+)'|\"([^\"\n]+)\"|\\?([\w.!%@+-]+))")
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
ASSIGNED = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)(?:\[[^\]\n]*\])?(\+?)=", re.S)
"""The start of `NAME=value`, `NAME+=value` and `NAME[index]=value`."""
PARAMETER = re.compile(r"([A-Za-z_][A-Za-z0-9_]*|\d+|[@*#?!$-])(?:\[([^\]]*)\])?(.*)$", re.S)
"""What stands between the braces of `${...}`: the name, an index, and what is done with the value."""
FALLBACK = re.compile(r"(:?[-=?+])(.*)$", re.S)
HIDDEN = "\ue000"
"""Stands in a variable's value for a part that only the shell knows."""
UNKNOWN_PART = re.compile(
    r"\$\((?:[^()]|\([^()]*\))*\)|`[^`]*`?|\$\{[^{}]*\}|\$[A-Za-z_]\w*|\$[0-9@*#?!$-]|<[A-Za-z][\w .:/|-]*>"
)
"""Such a part, as the scanner writes it into a word."""
ARRAY_NAME = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)(\+?)=$")
ARITHMETIC = re.compile(r"([A-Za-z_]\w*)[ \t]*(?:(?:[-+*/%&|^]|<<|>>)?=(?!=)|\+\+|--)|(?:\+\+|--)[ \t]*([A-Za-z_]\w*)")
"""A name that arithmetic sets."""
PLACEHOLDER = re.compile(r"<[A-Za-z][\w .:/|-]*>")
CHOICE = re.compile(
    r"\[[\w./:+-]+(?: ?\| ?[\w./:+-]+)+\]|\{[\w./:+-]+(?:\|[\w./:+-]+)+\}"
    r"|\[--?[A-Za-z][^\[\];&|\n]*\]|\[[A-Za-z][\w-]+\]"
)
"""Documentation's `[fp8|auto]`, `{a|b}` and `[--option VALUE]`: no shell means anything by them."""
ORDINARY = re.compile(r"[A-Za-z0-9_./:+@%^~-]+")
IN_QUOTES = re.compile(r"[^\"\\$`]+")
UNBRACKETED = re.compile(r"[^\\\"'#<ce()\[\]{}]+")
"""Characters that mean nothing: in a word, in double quotes, and between brackets."""
