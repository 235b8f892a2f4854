"""A place in a text that is read from left to right, with its line and column."""

from __future__ import annotations

from bisect import bisect_right


class Cursor:
    """Where a text is read. `starts` are the places of its pieces, where they cannot be counted."""

    def __init__(self, text: str, line: int, column: int, starts: tuple[tuple[int, int, int], ...]) -> None:
        self.text = text
        self.at = 0
        self.line = line
        self.column = column
        self.starts = starts

    def _peek(self, ahead: int = 0) -> str:
        index = self.at + ahead
        return self.text[index] if index < len(self.text) else ""

    def _next(self) -> str:
        char = self.text[self.at]
        self.at += 1
        if char == "\n":
            self.line += 1
            self.column = 1
        else:
            self.column += 1
        return char

    def _skip(self, count: int) -> str:
        piece = self.text[self.at : self.at + count]
        self.at += len(piece)
        lines = piece.count("\n")
        self.line += lines
        self.column = len(piece) - piece.rfind("\n") if lines else self.column + len(piece)
        return piece

    def _place(self) -> tuple[int, int]:
        if not self.starts:
            return self.line, self.column
        offset, line, column = self.starts[max(0, bisect_right(self.starts, self.at, key=lambda s: s[0]) - 1)]
        return line, column + max(0, self.at - offset)
