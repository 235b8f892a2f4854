"""What a name of a Python file holds while it is read: lists of words and texts of commands, and how branches join."""

from __future__ import annotations

import ast
from collections.abc import Sequence

import msgspec

from compatcheck.launch.model import Word

MAX_VARIANTS = 8
"""Values that one name may hold at once, by the branches before."""
MAX_WORDS = 2000
"""Words of one list; what comes after them is not known."""
ADDING = frozenset({"append", "extend", "insert"})
CHANGING = frozenset({"remove", "pop", "clear", "sort", "reverse"})


class Grown(msgspec.Struct, frozen=True):
    """A list of words, or the pieces of a text (`script`), and where in the file it began."""

    origin: int
    words: tuple[Word, ...]
    script: bool = False


State = dict[str, tuple[Grown, ...]]


def key_of(node: ast.AST | None) -> str | None:
    """Return the name under which a value is kept: `cmd`, or `self.cmd`."""
    return ast.unparse(node) if isinstance(node, (ast.Name, ast.Attribute)) else None


def unknown(node: ast.AST, *, script: bool = False) -> Word:
    """Return the word that stands for what an expression gives, which is known only where it is run."""
    text = ast.unparse(node)[:60].lstrip("*")
    line, column = getattr(node, "lineno", 1), getattr(node, "col_offset", 0) + 1
    return Word("$unknown" if script else f"*{text}", line, column, dynamic=True)


def product(origin: int, parts: Sequence[tuple[Grown, ...]], *, script: bool = False) -> tuple[Grown, ...]:
    """Return every sequence of the parts, one after the other."""
    found: list[tuple[Word, ...]] = [()]
    for part in parts:
        found = [(*words, *one.words) for words in found for one in part][:MAX_VARIANTS]
    return tuple(Grown(origin, capped(words), script) for words in found)


def capped(words: tuple[Word, ...]) -> tuple[Word, ...]:
    """Return words without those beyond the limit, for which one that is not known stands."""
    return words if len(words) <= MAX_WORDS else (*words[:MAX_WORDS], Word("*more", dynamic=True))


def text_of(one: Grown) -> tuple[str, tuple[tuple[int, int, int], ...]]:
    """Return a text with where its pieces stand: (offset, line, column)."""
    text = ""
    starts: list[tuple[int, int, int]] = []
    for piece in one.words:
        for number, line in enumerate(piece.text.splitlines(keepends=True)):
            starts.append((len(text), piece.line + number, piece.column if number == 0 else 1))
            text += line
    return text, tuple(starts)


def joined(states: Sequence[State]) -> State:
    """Return what is held after branches; of a value that they left differently, what they have in common."""
    result: State = {}
    for key in dict.fromkeys(key for state in states for key in state):
        by_origin: dict[int, list[Grown]] = {}
        for state in states:
            for one in state.get(key, ()):
                by_origin.setdefault(one.origin, []).append(one)
        result[key] = tuple(_common(key, several) for several in by_origin.values())[:MAX_VARIANTS]
    return result


def _common(key: str, several: Sequence[Grown]) -> Grown:
    first = several[0]
    if all(one.words == first.words for one in several):
        return first
    length = 0
    while all(len(one.words) > length and one.words[length] == first.words[length] for one in several):
        length += 1
    other = next(one.words for one in several if len(one.words) > length)[length]
    open_ = Word(" $unknown" if first.script else f"*{key}", other.line, other.column, dynamic=True)
    return Grown(first.origin, (*first.words[:length], open_), first.script)


def shallow(node: ast.AST) -> list[ast.AST]:
    """Return a statement and those inside it, without what stands in functions of their own."""
    found = [node]
    if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.expr)):
        for child in ast.iter_child_nodes(node):
            found += shallow(child)
    return found


def assigned(body: Sequence[ast.stmt]) -> set[str]:
    """Return the names that a scope sets itself."""
    nodes = [node for statement in body for node in shallow(statement)]
    targets = [t for n in nodes if isinstance(n, ast.Assign) for t in n.targets]
    targets += [n.target for n in nodes if isinstance(n, ast.AnnAssign)]
    return {key for target in targets if (key := key_of(target)) is not None}


def added_to(tree: ast.AST) -> set[str]:
    """Return the names to whose lists something is added, or of which something is taken."""
    found: set[str | None] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.AugAssign):
            found.add(key_of(node.target))
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            if node.func.attr in ADDING | CHANGING:
                found.add(key_of(node.func.value))
        elif isinstance(node, ast.Subscript) and isinstance(node.ctx, (ast.Store, ast.Del)):
            found.add(key_of(node.value))
    return {key for key in found if key is not None}


def changers(tree: ast.AST) -> set[str]:
    """Return the functions of the file that change a list that they are given."""
    functions = [n for n in ast.walk(tree) if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef))]
    return {f.name for f in functions if {a.arg for a in (*f.args.posonlyargs, *f.args.args)} & added_to(f)}


def grown_results(tree: ast.AST) -> set[str]:
    """Return the functions of the file to whose result more is added where they are called."""
    called: dict[str, set[str]] = {}
    added = added_to(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
            name = (key_of(node.value.func) or "").rpartition(".")[2]
            called.setdefault(name, set()).update(key for t in node.targets if (key := key_of(t)) is not None)
    whole: set[str] = set()
    for node in ast.walk(tree):
        parts = [node.left, node.right] if isinstance(node, ast.BinOp) else []
        parts += [node.value] if isinstance(node, ast.Starred) else []
        for part in parts:
            if isinstance(part, ast.Call):
                whole.add((key_of(part.func) or "").rpartition(".")[2])
            added |= {key for key in [key_of(part)] if key is not None}
    return whole | {name for name, keys in called.items() if keys & added}
