"""Here-documents: `<<EOF`, `<<-EOF`, `<<'EOF'`, whose text begins behind the line that they stand in."""

from __future__ import annotations

import re

import msgspec

_LINE_END = re.compile(r"(?<!\\)\n")


class Span(msgspec.Struct, frozen=True):
    """Where the text of a here-document begins and ends, and where what closes it ends."""

    begin: int
    close: int
    end: int


def heredoc_of(text: str, match: re.Match[str], behind: int) -> Span:
    """Return where a here-document's text is. `behind`: the end of the operator, or of the here-document before it."""
    begin = behind
    if begin == match.end():
        line_end = _LINE_END.search(text, begin)
        begin = line_end.end() if line_end is not None else len(text)
    name = match[2] or match[3] or match[4]
    closing = re.compile(rf"^\s*{re.escape(name)}[ \t\r]*$", re.M).search(text, begin)  # documents indent it
    if closing is None:
        return Span(begin, len(text), len(text))
    after = text.find("\n", closing.end())
    return Span(begin, closing.start(), after + 1 if after >= 0 else len(text))
