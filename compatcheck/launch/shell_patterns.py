"""What a shell's text is made of: names, expansions, and the placeholders that documentation writes into commands."""

from __future__ import annotations

import re

UNCLOSED = "\u2026 (the quote is not closed)"
"""Ends a word whose quote nothing closes."""
ELLIPSES = frozenset({"...", "\u2026", "[...]", "[options]", "[OPTIONS]"})
HEREDOC = re.compile(r"<<-?\s*(['\"]?)([A-Za-z_]\w*)\1")
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
BRACED = re.compile(r"\{([A-Za-z_][A-Za-z0-9_]*|\d+)(?:(:?[-=?+])([^{}]*))?\}")
HIDDEN = "\ue000"
"""Stands in a variable's value for a part that only the shell knows."""
UNKNOWN_PART = re.compile(
    r"\$\((?:[^()]|\([^()]*\))*\)|`[^`]*`?|\$\{[^{}]*\}|\$[A-Za-z_]\w*|\$[0-9@*#?!$-]|<[A-Za-z][\w .:/|-]*>"
)
"""Such a part, as the scanner writes it into a word."""
ARRAY = re.compile(r"\{([A-Za-z_][A-Za-z0-9_]*)\[[@*]\](?::?[-+](?:[^{}]|\$\{[^{}]*\})*)?\}")
ARRAY_NAME = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)(\+?)=$")
PLACEHOLDER = re.compile(r"<[A-Za-z][\w .:/|-]*>")
CHOICE = re.compile(
    r"\[[\w./:+-]+(?: ?\| ?[\w./:+-]+)+\]|\{[\w./:+-]+(?:\|[\w./:+-]+)+\}"
    r"|\[--?[A-Za-z][^\[\];&|\n]*\]|\[[A-Za-z][\w-]+\]"
)
"""Documentation's `[fp8|auto]`, `{a|b}` and `[--option VALUE]`: no shell means anything by them."""
