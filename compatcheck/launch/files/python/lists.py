"""Commands that a Python file builds up: `cmd = [...]`, `cmd += [...]`, `cmd.append(x)`, `[*cmd, ...]`, and texts.

Each scope is read from top to bottom. What one branch adds and another does not is not known after them, as it is for
arrays of a shell script; the list then holds a word that is `dynamic`. Nothing is run.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Sequence

from compatcheck.launch.files.python.added import (
    added_to,
    assigned,
    grown_results,
    handed,
    rebound,
    shallow,
    used,
)
from compatcheck.launch.files.python.growing import Growing
from compatcheck.launch.files.python.grown import Grown, State, joined, key_of, unknown
from compatcheck.launch.files.python.spawn import Command
from compatcheck.launch.model import Word

_PROGRAM = re.compile(r"serve|entrypoints|bench|run-batch|openai")
"""What stands in every command that launches: a subcommand, a module or an image."""
MAX_LOOPS = 2
"""Loops inside each other whose turns are told apart."""
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def followed_commands(tree: ast.Module, nodes: Sequence[ast.AST], word: Callable[[ast.expr], Word]) -> list[Command]:
    """Return every list that may launch, as it is where its scope ends, and every text that a shell is given.

    `nodes` are all those of the tree.
    """
    texts = [n.value for n in nodes if isinstance(n, ast.Constant) and isinstance(n.value, str)]
    if not any("vllm" in text for text in texts) or not any(_PROGRAM.search(text) for text in texts):
        return []
    follower = _Follower(nodes, word)
    follower.scope(tree.body, State())
    return follower.commands()


class _Follower(Growing):
    def __init__(self, nodes: Sequence[ast.AST], word: Callable[[ast.expr], Word]) -> None:
        super().__init__(nodes, word)
        self.grown = grown_results(nodes)
        self.loops = 0
        """How many loops are read for the first time."""
        self.begun = 0
        """The point of the state at which the scope began."""
        self.defined: dict[ast.AST, int] = {}
        """Function -> the point of the state from which on it may be called."""

    # ------------------------------------------------------------------------------------------ scopes

    def scope(self, body: Sequence[ast.stmt], state: State) -> None:
        """Read a scope, then the functions inside it, which see what it holds at its end."""
        inner = [n for statement in body for n in shallow(statement) if isinstance(n, _FUNCTIONS)]
        for function in inner:
            own = assigned(function.body) | _arguments(function)
            self.outside |= (added_to(ast.walk(function)) | handed(ast.walk(function), self.changers)) - own
            self.rewritten |= added_to(ast.walk(function), adding=False) - own
        depth, begun, self.depth, self.begun = self.depth, self.begun, 0, state.mark()
        if self.run(body, state):
            self.emit(self._held(state))
        self.depth = depth
        for function in inner:
            outer, self.function, mark = self.function, function.name, state.mark()
            for name in used(function):
                versions = state.versions(name, self.defined.get(function, self.begun))
                if len(versions) > 1:
                    state.put(name, joined(name, versions))
            for name in _arguments(function):
                state.put(name, ())
            self.parameters = _arguments(function)
            self.scope(function.body, state)
            state.back(mark)
            self.function = outer
        self.begun = begun

    def run(self, body: Sequence[ast.stmt], state: State) -> bool:
        """Read statements in order; return whether what follows them is reached."""
        return all(self._statement(statement, state) for statement in body)

    def _statement(self, node: ast.stmt, state: State) -> bool:
        for name in rebound(node):
            self.bind(name, (), state)
        if isinstance(node, _FUNCTIONS):
            if not self.depth:
                self.defined[node] = state.mark()
            return True  # read when its scope is
        if isinstance(node, ast.ClassDef):
            self.run(node.body, state)
        elif isinstance(node, (ast.Assign, ast.AnnAssign)):
            if node.value is not None:
                self.assign(node.targets if isinstance(node, ast.Assign) else [node.target], node.value, state)
        elif isinstance(node, ast.AugAssign):
            key = key_of(node.target)
            if key is not None and state.get(key) and isinstance(node.op, ast.Add):
                self.add(key, node.value, state)
            else:
                self.loose(node.value, state)
        elif isinstance(node, ast.Expr):
            if not isinstance(node.value, (ast.List, ast.Tuple)) and not self.method(node.value, state):
                self.loose(node.value, state)
        elif isinstance(node, ast.Assert):
            self.look(node.test, state)
        elif isinstance(node, (ast.Return, ast.Raise)):
            self._leave(node.value if isinstance(node, ast.Return) else node.exc, state)
            return False
        elif isinstance(node, ast.Delete):
            for target in node.targets:
                self.element(target, state)
        else:
            return self._block(node, state)
        return True

    def _block(self, node: ast.stmt, state: State) -> bool:
        """Read branches, each from the same start, and join what they leave."""
        for name in ("test", "iter", "subject"):
            if isinstance(expression := getattr(node, name, None), ast.expr):
                self.loose(expression, state)
        if isinstance(node, (ast.With, ast.AsyncWith)):
            for item in node.items:
                self.loose(item.context_expr, state)
            return self.run(node.body, state)
        body, orelse = list(getattr(node, "body", [])), list(getattr(node, "orelse", []))
        after = list(getattr(node, "finalbody", []))
        parts = [*getattr(node, "handlers", []), *getattr(node, "cases", [])]
        branches = [(None, body), *[(part, part.body) for part in parts]]
        if isinstance(node, (ast.For, ast.AsyncFor, ast.While)):
            branches, after = [(None, body), (None, [])], orelse
        elif isinstance(node, ast.If):
            branches = [(None, body), (None, orelse)]
        elif orelse:
            branches[0] = (None, [*body, *orelse])
        self.depth += 1
        if isinstance(node, (ast.For, ast.AsyncFor, ast.While)) and self.loops < MAX_LOOPS:
            self._first_turn(body, state)
        ends: list[dict[str, tuple[Grown, ...]]] = []
        for header, branch in branches:
            mark = state.mark()
            for name in rebound(header) if header is not None else ():
                self.bind(name, (), state)
            if self.run(branch, state):
                ends.append(state.since(mark))
            state.back(mark)
        self.depth -= 1
        for key in dict.fromkeys(key for end in ends for key in end):
            state.put(key, joined(key, [end.get(key, state.get(key)) for end in ends]))
        return self.run(after, state) if ends else False

    def _first_turn(self, body: Sequence[ast.stmt], state: State) -> None:
        """Read the body of a loop as it is the first time, then join what it leaves with what it began with."""
        self.loops += 1
        mark = state.mark()
        reached = self.run(body, state)
        end = state.since(mark) if reached else {}
        state.back(mark)
        for key, held in end.items():
            before = state.get(key)
            if before and before != held:
                state.put(key, joined(key, [before, held]))
        self.loops -= 1

    def _leave(self, value: ast.expr | None, state: State) -> None:
        """Read `return`: within a branch, only what was given to a call or is returned is a command by then."""
        held = self.value(value, state) if value is not None else None
        if value is not None and held is None:
            self.loose(value, state)
        returned = [one for one in held or () if not one.script]
        self.returned |= {one.origin for one in returned}
        if self.function in self.grown and value is not None:
            self.consumed |= {one.origin for one in returned}
            returned = [Grown(-one.origin, (*one.words, unknown(value))) for one in returned]  # a list of its own
        rest = self._held(state)
        self.emit([*returned, *(one for one in rest if not self.depth or one.origin in self.passed)])

    def _held(self, state: State) -> list[Grown]:
        """Return what the scope holds."""
        return [one for key, held in state.since(self.begun).items() for one in self.open(key, held)]


def _arguments(function: ast.FunctionDef | ast.AsyncFunctionDef) -> set[str]:
    arguments = function.args
    several = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    return {one.arg for one in (*several, arguments.vararg, arguments.kwarg) if one is not None}
