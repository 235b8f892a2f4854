"""Commands that stand in expressions of a Python file: which are started, and which are only looked at."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence

from compatcheck.launch.files.python.grown import HEAD, Grown, State, capped, joined, key_of, may_launch, unknown
from compatcheck.launch.files.python.parts import Parts
from compatcheck.launch.files.python.spawn import SHELLS, WORDS, Command, Run, looks, run_of, started, starts
from compatcheck.launch.files.python.values import name_of
from compatcheck.launch.model import Word


class Looking(Parts):
    """Finds lists and texts that are given to calls, and notes what calls do with lists that have names."""

    def __init__(self, word: Callable[[ast.expr], Word], changers: set[str]) -> None:
        super().__init__(word)
        self.changers = changers
        self.found: dict[Grown, list[Run]] = {}
        """Lists and texts that may launch -> the calls that start them."""
        self.passed: set[int] = set()
        """Lists that were given to a call as they are."""
        self.returned: set[int] = set()
        self.compared: set[int] = set()
        """Lists that a test compares with others."""
        self.started: set[int] = set()
        """Lists of which a call is known that starts them: they are what they are there."""
        self.unknown: list[Run] = []
        """Calls with an environment of their own that start something of which nothing is known."""
        self.function = ""
        self.parameters: set[str] = set()
        self.starters: dict[str, list[Run]] = {}
        """Function -> the calls in it that start what the function is given."""
        self.handed: dict[int, set[str]] = {}
        """List -> the functions that it is given to."""
        self._only_looks = False
        self._emitted: dict[int, Grown] = {}

    def commands(self) -> list[Command]:
        """Return what was found, without lists that only served to make others, or to compare with."""
        used = (self.consumed - self.passed) | (self.compared - self.passed - self.returned)
        found: list[Command] = []
        for one, known in self.found.items():
            runs = known or [run for name in self.handed.get(one.origin, ()) for run in self.starters.get(name, ())]
            if one.origin not in used and (known or one.origin not in self.started):
                loose = () if runs else tuple(self.unknown)
                found.append(Command(grown=one, node=self.nodes[abs(one.origin)], runs=tuple(runs), loose=loose))
        return found

    def emit(self, held: Sequence[Grown]) -> None:
        """Note lists that may launch."""
        for one in held:
            if id(one) not in self._emitted:
                self._emitted[id(one)] = one
                if not one.script and may_launch(one):
                    self.found.setdefault(one, [])

    def change(self, key: str, state: State, change: Callable[[tuple[Word, ...]], tuple[Word, ...]]) -> None:
        """Change a list, under every name that it has."""
        origins = {one.origin for one in state.get(key)}
        several = len(origins) > 1
        for name in state.names(origins):
            held = state.get(name)
            if any(one.origin in origins for one in held):
                changed = [
                    Grown(one.origin, capped(change(one.words)), one.script) if one.origin in origins else one
                    for one in held
                ]
                perhaps = several and name != key  # which of several lists the name holds is not known
                state.put(name, joined(name, [held, tuple(changed)]) if perhaps else tuple(changed))

    def loose(self, node: ast.expr, state: State) -> None:
        """Find lists that stand in an expression and are kept under no name."""
        held = self.value(node, state) if key_of(node) is None else None
        if held is not None and any(may_launch(one) for one in held if not one.script):
            if not self._only_looks:
                self.emit(held)
        else:
            self.inside(node, state)

    def look(self, node: ast.expr, state: State) -> None:
        """Read an expression whose lists nobody starts, unless a call in it does."""
        before, self._only_looks = self._only_looks, True
        self.inside(node, state)
        self._only_looks = before

    def inside(self, node: ast.expr, state: State) -> None:
        """Read what stands inside an expression that is no launch itself."""
        before = self._only_looks
        if isinstance(node, ast.Call):
            self._only_looks = not starts(node) and (before or looks(node))
            self._call(node, state)
        elif isinstance(node, ast.Compare):
            self._only_looks = True
            if any(isinstance(one, (ast.Eq, ast.NotEq)) for one in node.ops):
                self._compared([node.left, *node.comparators], state)
        for child in ast.iter_child_nodes(node):
            inner = child.value if isinstance(child, ast.keyword) else child
            inner = child.iter if isinstance(child, ast.comprehension) else inner
            if not isinstance(inner, ast.expr):
                continue
            if isinstance(node, ast.BinOp) and isinstance(inner, (ast.BinOp, ast.Constant)):
                self.inside(inner, state)  # its words were among those of the whole
            else:
                self.loose(inner, state)
        self._only_looks = before

    def _compared(self, nodes: Sequence[ast.expr], state: State) -> None:
        for node in nodes:
            self.compared |= {one.origin for one in state.get(key_of(node))}

    def _call(self, node: ast.Call, state: State) -> None:
        called, run = name_of(node.func), run_of(node)
        if looks(node):
            self._compared(node.args if called not in ("print", "join") else [], state)
        else:
            for argument in (*node.args, *(keyword.value for keyword in node.keywords)):
                key = key_of(argument)
                given = {one.origin for one in state.get(key)} or {id(argument)}
                for origin in given:
                    self.handed.setdefault(origin, set()).add(called)
                if key is not None and state.get(key):
                    self.passed |= {one.origin for one in state.get(key)}
                    if called in self.changers:
                        self.change(key, state, lambda words: (*words, unknown(node)))
        if called in WORDS and len(node.args) >= HEAD - 1:
            self._begin(self.product(node, [self.item(argument, state) for argument in node.args]), run)
            return
        if run is not None:
            self._started(node, run, state)

    def _started(self, node: ast.Call, run: Run, state: State) -> None:
        """Note what a call starts, and with which environment."""
        found = False
        for argument in started(node):
            texts = name_of(node.func) in SHELLS
            value = self.value(argument, state) or ()
            held = [one for one in value if may_launch(one) and (texts or not one.script)]
            found = found or bool(held)
            self._begin(held, run)
        given = {name_of(argument) for argument in started(node)}
        if not found and starts(node) and given & self.parameters:
            self.starters.setdefault(self.function, []).append(run)
        if not found and run.env is not None:
            self.unknown.append(run)

    def _begin(self, held: Sequence[Grown], run: Run | None) -> None:
        """Note that a call starts a command as it is now."""
        for one in held:
            if may_launch(one):
                self.found.setdefault(one, []).extend([run] if run is not None else [])
                self.started.add(one.origin)
                self.consumed |= self.sources.get(one.origin, set()) - self.passed
