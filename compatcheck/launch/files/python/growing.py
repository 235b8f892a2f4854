"""Statements of a Python file that change a list or text: assignments, `+=`, `append` and the like."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from functools import partial

from compatcheck.launch.files.python.added import ADDING, CHANGING, changers, shared
from compatcheck.launch.files.python.grown import Grown, State, key_of, may_launch, only_head, unknown
from compatcheck.launch.files.python.looking import Looking
from compatcheck.launch.model import Word


class Growing(Looking):
    """Changes what the names hold."""

    def __init__(self, nodes: Sequence[ast.AST], word: Callable[[ast.expr], Word]) -> None:
        super().__init__(word, changers(nodes))
        self.shared = shared(nodes)
        self.depth = 0
        """How many branches are open."""

    def assign(self, targets: Sequence[ast.expr], value: ast.expr, state: State) -> None:
        """Read `cmd = value`."""
        held = self.value(value, state)
        if held is None or not any(may_launch(one) for one in held):
            self.inside(value, state)
        for target in targets:
            key = key_of(target)
            if key is None:
                self.element(target, state, value)
                continue
            if key in self.shared:
                more = unknown(target)
                self.emit([Grown(one.origin, only_head(more, one.words), one.script) for one in held or ()])
            self.bind(key, held or () if key not in self.shared else (), state)

    def bind(self, key: str, held: tuple[Grown, ...], state: State) -> None:
        """Let a name hold something else; what it held until then is a command by then."""
        old = state.get(key)
        state.put(key, held)
        kept = {one.origin for one in held}
        self.emit([one for one in old if one.origin not in kept and (not self.depth or one.origin in self.passed)])

    def element(self, target: ast.expr, state: State, value: ast.expr | None = None) -> None:
        """Read `cmd[i] = x` and `del cmd[i]`: what the list holds after its first words is not known any more."""
        for part in ast.walk(target):
            key = key_of(part.value) if isinstance(part, ast.Subscript) else None
            if key is None or not state.get(key) or not isinstance(part, ast.Subscript):
                continue
            at = part.slice.value if isinstance(part.slice, ast.Constant) and part is target else None
            if value is not None and isinstance(at, int) and at >= 0:
                self.change(key, state, partial(_replaced, at, self.word(value)))
            else:
                self.change(key, state, partial(only_head, unknown(target)))

    def add(self, key: str, value: ast.expr, state: State) -> None:
        """Read `cmd += value`."""
        script = any(one.script for one in state.get(key))
        held = self.value(value, state)
        self.consumed |= {one.origin for one in held or ()}
        sure = held is not None and len(held) == 1 and held[0].script == script
        more = held[0].words if held is not None and sure else (unknown(value, script=script),)
        self.change(key, state, lambda words: (*words, *more))

    def method(self, node: ast.expr, state: State) -> bool:
        """Read `cmd.append(x)` and what else changes a list; return whether it was that."""
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            return False
        key, method = key_of(node.func.value), node.func.attr
        if key is None or not state.get(key) or method not in ADDING | CHANGING:
            return False
        if method == "append" and len(node.args) == 1:
            word = self.word(node.args[0])
            self.change(key, state, lambda words: (*words, word))
        elif method == "extend" and len(node.args) == 1:
            self.add(key, node.args[0], state)
        elif method == "insert" and len(node.args) == 2 and isinstance(node.args[0], ast.Constant):
            at, inserted = node.args[0].value, self.word(node.args[1])
            if isinstance(at, int):
                self.change(key, state, lambda words: (*words[:at], inserted, *words[at:]))
        else:
            self.change(key, state, partial(only_head, unknown(node)))
        return True


def _replaced(at: int, word: Word, words: tuple[Word, ...]) -> tuple[Word, ...]:
    """Return words of which one is another."""
    if any(one.dynamic for one in words[: at + 1] if one.text.startswith("*")) or at >= len(words):
        return only_head(Word(f"*{word.text}", word.line, word.column, dynamic=True), words)
    return (*words[:at], word, *words[at + 1 :])
