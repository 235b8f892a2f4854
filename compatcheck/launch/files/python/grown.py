"""What a name of a Python file holds while it is read: lists of words and texts of commands, and how branches join."""

from __future__ import annotations

import ast
from bisect import bisect_left
from collections.abc import Sequence

import msgspec

from compatcheck.launch.model import Word

MAX_VARIANTS = 8
"""Values that one name may hold at once, by the branches before."""
MAX_WORDS = 2000
"""Words of one list; what comes after them is not known."""
HEAD = 3
"""Words of a list that are taken to stay: the program, and `serve` or its module."""
OPEN = "$unknown"
"""How a part of a text begins of which nothing is known."""


class Grown(msgspec.Struct, frozen=True):
    """A list of words, or the pieces of a text (`script`), and where in the file it began."""

    origin: int
    words: tuple[Word, ...]
    script: bool = False


class State:
    """What the names hold at one point of the reading; what a branch did can be taken back."""

    def __init__(self) -> None:
        self._held: dict[str, tuple[Grown, ...]] = {}
        self._log: list[tuple[str, tuple[Grown, ...]]] = []
        self._places: dict[str, list[int]] = {}
        """Name -> where in the log it is."""
        self._names: dict[int, dict[str, None]] = {}
        """The beginning of a list -> names that hold it, or held it once."""

    def get(self, key: str | None) -> tuple[Grown, ...]:
        """Return what a name holds; nothing where that is no list or text that is written down."""
        return self._held.get(key, ()) if key is not None else ()

    def put(self, key: str, held: tuple[Grown, ...]) -> None:
        """Let a name hold something else."""
        before = self._held.get(key, ())
        if not held and not before:
            return
        self._places.setdefault(key, []).append(len(self._log))
        self._log.append((key, before))
        self._keep(key, held)
        for one in held:
            self._names.setdefault(one.origin, {})[key] = None

    def names(self, origins: set[int]) -> list[str]:
        """Return the names that may hold one of these lists."""
        return list(dict.fromkeys(name for origin in origins for name in self._names.get(origin, ())))

    def mark(self) -> int:
        """Return the point to which `since` and `back` refer."""
        return len(self._log)

    def since(self, mark: int) -> dict[str, tuple[Grown, ...]]:
        """Return what the names hold that were set after a point."""
        return {key: self.get(key) for key, _ in self._log[mark:]}

    def versions(self, key: str, mark: int) -> list[tuple[Grown, ...]]:
        """Return everything that a name held since a point, from what it held there to what it holds."""
        places = self._places.get(key, [])
        return [*(self._log[place][1] for place in places[bisect_left(places, mark) :]), self.get(key)]

    def back(self, mark: int) -> None:
        """Take back what was set after a point."""
        while len(self._log) > mark:
            key, before = self._log.pop()
            self._places[key].pop()
            self._keep(key, before)

    def _keep(self, key: str, held: tuple[Grown, ...]) -> None:
        if held:
            self._held[key] = held
        else:
            self._held.pop(key, None)


def key_of(node: ast.AST | None) -> str | None:
    """Return the name under which a value is kept: `cmd`, or `self.cmd`."""
    return ast.unparse(node) if isinstance(node, (ast.Name, ast.Attribute)) else None


def unknown(node: ast.AST, *, script: bool = False) -> Word:
    """Return the word that stands for what an expression gives, which is known only where it is run."""
    line, column = getattr(node, "lineno", 1), getattr(node, "col_offset", 0) + 1
    if script:
        name = node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
        return Word(f"{OPEN}_{name}" if name.isascii() and name else OPEN, line, column, dynamic=True)
    return Word("*" + ast.unparse(node)[:60].lstrip("*"), line, column, dynamic=True)


def product(origin: int, parts: Sequence[tuple[Grown, ...]], *, script: bool = False) -> tuple[Grown, ...]:
    """Return every sequence of the parts, one after the other."""
    found: list[list[Word]] = [[]]
    for part in parts:
        if len(part) > 1:
            found = [[*words, *one.words] for words in found for one in part][:MAX_VARIANTS]
            continue
        for words in found:
            words += part[0].words if part and len(words) <= MAX_WORDS else ()
    return tuple(Grown(origin, capped(tuple(words)), script) for words in found)


def capped(words: tuple[Word, ...]) -> tuple[Word, ...]:
    """Return words without those beyond the limit, for which one that is not known stands."""
    return words if len(words) <= MAX_WORDS else (*words[:MAX_WORDS], Word("*more", dynamic=True))


def text_of(one: Grown) -> tuple[str, tuple[tuple[int, int, int], ...]]:
    """Return a text with where its pieces stand: (offset, line, column)."""
    pieces: list[str] = []
    starts: list[tuple[int, int, int]] = []
    offset = 0
    for piece in one.words:
        for number, line in enumerate(piece.text.splitlines(keepends=True)):
            starts.append((offset, piece.line + number, piece.column if number == 0 else 1))
            pieces.append(line)
            offset += len(line)
    return "".join(pieces), tuple(starts)


def opened(word: Word) -> Word:
    """Return a word of a text as one that is not known where something that is not known was filled into it."""
    return msgspec.structs.replace(word, dynamic=True) if OPEN in word.text else word


def only_head(rest: Word, words: tuple[Word, ...]) -> tuple[Word, ...]:
    """Return the words that are taken to stay, and one for whatever the others are now."""
    program = words[0].text.rpartition("/")[2] if words else ""
    return (*words[: HEAD - 1 if program == "vllm" else HEAD], rest)


def may_launch(one: Grown) -> bool:
    """Return whether a list is long enough and names vLLM."""
    return (one.script or len(one.words) >= HEAD) and any("vllm" in word.text.lower() for word in one.words)


def joined(key: str, ends: Sequence[tuple[Grown, ...]]) -> tuple[Grown, ...]:
    """Return what a name holds after branches; of a value that they left differently, what they have in common.

    After a branch that left something else, what serves a command is not known, and a command is one of several.
    """
    same: dict[tuple[int, int], list[Grown]] = {}
    known = all(ends)
    for held in ends:
        count: dict[int, int] = {}
        for one in held:
            count[one.origin] = count.get(one.origin, 0) + 1  # several are made of the several that a name held
            if known or may_launch(one):
                same.setdefault((one.origin, count[one.origin]), []).append(one)
    return tuple(_common(key, several) for several in same.values())[:MAX_VARIANTS]


def _common(key: str, several: Sequence[Grown]) -> Grown:
    first = several[0]
    if all(one.words == first.words for one in several):
        return first
    length = 0
    while all(len(one.words) > length and one.words[length] == first.words[length] for one in several):
        length += 1
    other = next(one.words for one in several if len(one.words) > length)[length]
    apart = all(one.words[length].text[:1].isspace() for one in several if len(one.words) > length)
    text = f" {OPEN}" if apart else f"{OPEN} {OPEN}"
    open_ = Word(text if first.script else f"*{key}", other.line, other.column, dynamic=True)
    return Grown(first.origin, (*first.words[:length], open_), first.script)
