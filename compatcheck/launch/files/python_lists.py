"""Commands that a Python file builds up: `cmd = [...]`, `cmd += [...]`, `cmd.append(x)`, `[*cmd, ...]`, and texts.

Each scope is read from top to bottom. What one branch adds and another does not is not known after them, as it is for
arrays of a shell script; the list then holds a word that is `dynamic`. Nothing is run.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Sequence

from compatcheck.launch.files.python_grown import (
    ADDING,
    CHANGING,
    MAX_VARIANTS,
    Grown,
    State,
    added_to,
    assigned,
    capped,
    changers,
    grown_results,
    joined,
    key_of,
    product,
    shallow,
    text_of,
    unknown,
)
from compatcheck.launch.files.python_values import name_of
from compatcheck.launch.model import Word
from compatcheck.launch.words import commands

SHELLS = frozenset({"run", "Popen", "call", "check_call", "check_output", "system", "popen", "getoutput"})
"""Functions of subprocess and os that take a command as one text."""
SHELLS |= {"create_subprocess_shell", "getstatusoutput"}
_WORDS = frozenset({"create_subprocess_exec", "execlp", "execl", "spawnlp"})
"""Functions that take the words of a command one by one; those of os have the program in front of them."""
_LOOKING = frozenset({"print", "join", "len", "info", "debug", "warning", "error", "log", "echo", "repr", "str"})
"""Calls that look at a list and start nothing."""
_HEAD = 3
"""Words of a list that are taken to stay: the program, and `serve` or its module."""
_PROGRAM = re.compile(r"serve|entrypoints|bench|run-batch|openai")
"""What stands in every command that launches: a subcommand, a module or an image."""
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def followed_commands(tree: ast.Module, word: Callable[[ast.expr], Word]) -> list[Grown]:
    """Return every list that may launch, as it is where its scope ends, and every text that a shell is given."""
    texts = [n.value for n in ast.walk(tree) if isinstance(n, ast.Constant) and isinstance(n.value, str)]
    if not any("vllm" in text for text in texts) or not any(_PROGRAM.search(text) for text in texts):
        return []
    follower = _Follower(tree, word)
    follower.scope(tree.body, {})
    return follower.commands()


class _Follower:
    def __init__(self, tree: ast.Module, word: Callable[[ast.expr], Word]) -> None:
        self.word = word
        self.grown = grown_results(tree)
        self.changers = changers(tree)
        self.found: dict[Grown, None] = {}
        self.consumed: set[int] = set()
        """Lists that went into others."""
        self.passed: set[int] = set()
        """Lists that were given to a call as they are."""
        self.outside: set[str] = set()
        """Names to which another scope than their own adds."""
        self.function = ""
        self.depth = 0
        """How many branches are open."""

    def commands(self) -> list[Grown]:
        """Return what was found, without lists that only served to make others."""
        used = self.consumed - self.passed
        return [one for one in self.found if one.origin not in used]

    # ------------------------------------------------------------------------------------------ scopes

    def scope(self, body: Sequence[ast.stmt], state: State) -> None:
        """Read a scope, then the functions inside it, which see what it holds at its end."""
        inner = [n for statement in body for n in shallow(statement) if isinstance(n, _FUNCTIONS)]
        for function in inner:
            own = {argument.arg for argument in (*function.args.posonlyargs, *function.args.args)}
            self.outside |= added_to(function) - assigned(function.body) - own
        before, depth, self.depth = dict(state), self.depth, 0
        mine = assigned(body)
        if self.run(body, state):
            self._emit(self._held({k: held for k, held in state.items() if k in mine or held != before.get(k)}))
        self.depth = depth
        for function in inner:
            outer, self.function = self.function, function.name
            own = {argument.arg for argument in (*function.args.posonlyargs, *function.args.args)}
            self.scope(function.body, {key: held for key, held in state.items() if key not in own})
            self.function = outer

    def run(self, body: Sequence[ast.stmt], state: State) -> bool:
        """Read statements in order; return whether what follows them is reached."""
        return all(self._statement(statement, state) for statement in body)

    def _statement(self, node: ast.stmt, state: State) -> bool:
        if isinstance(node, _FUNCTIONS):
            return True  # read when its scope is
        if isinstance(node, ast.ClassDef):
            self.run(node.body, state)
        elif isinstance(node, (ast.Assign, ast.AnnAssign)):
            if node.value is not None:
                self._assign(node.targets if isinstance(node, ast.Assign) else [node.target], node.value, state)
        elif isinstance(node, ast.AugAssign):
            key = key_of(node.target)
            if key in state and isinstance(node.op, ast.Add):
                self._add(str(key), node.value, state)
            else:
                self._loose(node.value, state)
        elif isinstance(node, ast.Expr):
            if not self._method(node.value, state):
                self._loose(node.value, state)
        elif isinstance(node, (ast.Return, ast.Raise)):
            self._leave(node.value if isinstance(node, ast.Return) else node.exc, state)
            return False
        elif isinstance(node, ast.Delete):
            for target in node.targets:
                self._element(target, state)
        else:
            return self._block(node, state)
        return True

    def _block(self, node: ast.stmt, state: State) -> bool:
        """Read branches, each from the same start, and join what they leave."""
        for name in ("test", "iter", "subject"):
            if isinstance(expression := getattr(node, name, None), ast.expr):
                self._loose(expression, state)
        if isinstance(node, (ast.With, ast.AsyncWith)):
            for item in node.items:
                self._loose(item.context_expr, state)
            return self.run(node.body, state)
        body, orelse = list(getattr(node, "body", [])), list(getattr(node, "orelse", []))
        after = list(getattr(node, "finalbody", []))
        branches = [body, *[case.body for case in getattr(node, "cases", [])]]
        if isinstance(node, ast.Try):
            branches = [[*body, *orelse], *[handler.body for handler in node.handlers]]
        elif isinstance(node, (ast.For, ast.AsyncFor, ast.While)):
            branches, after = [body, []], orelse
        elif isinstance(node, ast.If):
            branches = [body, orelse]
        self.depth += 1
        ends = [(self.run(branch, end), end) for branch in branches for end in [dict(state)]]
        self.depth -= 1
        reached = [end for falls, end in ends if falls]
        if not reached:
            return False
        result = joined(reached)
        state.clear()
        state.update(result)
        return self.run(after, state)

    def _leave(self, value: ast.expr | None, state: State) -> None:
        """Read `return`: within a branch, only what was given to a call or is returned is a command by then."""
        held = self.value(value, state) if value is not None else None
        if value is not None and held is None:
            self._loose(value, state)
        returned = [one for one in held or () if not one.script]
        if self.function in self.grown and value is not None:
            self.consumed |= {one.origin for one in returned}
            returned = [Grown(-one.origin, (*one.words, unknown(value))) for one in returned]  # a list of its own
        rest = self._held(state)
        self._emit([*returned, *(one for one in rest if not self.depth or one.origin in self.passed)])

    # ------------------------------------------------------------------------------------------ changes

    def _assign(self, targets: Sequence[ast.expr], value: ast.expr, state: State) -> None:
        held = self.value(value, state)
        if held is None or not any(_may_launch(one) for one in held):
            self._inside(value, state)
        for target in targets:
            key = key_of(target)
            if key is None:
                self._element(target, state)
                continue
            old = state.pop(key, ())
            kept = {one.origin for one in held or ()}
            self._emit([one for one in old if one.origin not in kept and (not self.depth or one.origin in self.passed)])
            if held is not None:
                state[key] = held

    def _element(self, target: ast.expr, state: State) -> None:
        """Read `cmd[i] = x` and `del cmd[i]`: what the list holds after its first words is not known any more."""
        for part in ast.walk(target):
            key = key_of(part.value) if isinstance(part, ast.Subscript) else None
            if key in state:
                self._change(str(key), state, lambda words: (*words[:_HEAD], unknown(target)))

    def _change(self, key: str, state: State, change: Callable[[tuple[Word, ...]], tuple[Word, ...]]) -> None:
        """Change a list, under every name that it has."""
        origins = {one.origin for one in state[key]}
        for name, held in list(state.items()):
            state[name] = tuple(
                Grown(one.origin, capped(change(one.words)), one.script) if one.origin in origins else one
                for one in held
            )

    def _add(self, key: str, value: ast.expr, state: State) -> None:
        script = any(one.script for one in state[key])
        held = self.value(value, state)
        self.consumed |= {one.origin for one in held or ()}
        sure = held is not None and len(held) == 1 and held[0].script == script
        more = held[0].words if held is not None and sure else (unknown(value, script=script),)
        self._change(key, state, lambda words: (*words, *more))

    def _method(self, node: ast.expr, state: State) -> bool:
        """Read `cmd.append(x)` and what else changes a list; return whether it was that."""
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            return False
        key, method = key_of(node.func.value), node.func.attr
        if key not in state or method not in ADDING | CHANGING:
            return False
        if method == "append" and len(node.args) == 1:
            word = self.word(node.args[0])
            self._change(str(key), state, lambda words: (*words, word))
        elif method == "extend" and len(node.args) == 1:
            self._add(str(key), node.args[0], state)
        elif method == "insert" and len(node.args) == 2 and isinstance(node.args[0], ast.Constant):
            at, inserted = node.args[0].value, self.word(node.args[1])
            if isinstance(at, int):
                self._change(str(key), state, lambda words: (*words[:at], inserted, *words[at:]))
        else:
            self._change(str(key), state, lambda words: (*words[:_HEAD], unknown(node)))
        return True

    # ------------------------------------------------------------------------------------------ values

    def value(self, node: ast.expr, state: State) -> tuple[Grown, ...] | None:
        """Return the lists or texts that an expression may be; None where it is none that is written down."""
        key = key_of(node)
        if key is not None:
            return state.get(key) or self._constant(node)
        if isinstance(node, (ast.List, ast.Tuple)):
            return product(id(node), [self._item(item, state) for item in node.elts])
        if isinstance(node, (ast.Constant, ast.JoinedStr)):
            return self._text(node, state)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
            sides = [(side, self.value(side, state)) for side in (node.left, node.right)]
            known = [one for _, held in sides for one in held or ()]
            if not known:
                return None
            self.consumed |= {one.origin for one in known}
            script = known[0].script
            parts = [held or (Grown(0, (unknown(side, script=script),)),) for side, held in sides]
            return product(id(node), parts, script=script)
        if isinstance(node, ast.IfExp):
            both = [self.value(side, state) for side in (node.body, node.orelse)]
            return None if None in both else tuple(one for side in both for one in side or ())[:MAX_VARIANTS]
        return self._called(node, state) if isinstance(node, ast.Call) else None

    def _constant(self, node: ast.expr) -> tuple[Grown, ...] | None:
        """Return a text that the file assigns once, which every scope sees."""
        word = self.word(node)
        return None if word.dynamic else (Grown(id(node), (word,), script=True),)

    def _item(self, node: ast.expr, state: State) -> tuple[Grown, ...]:
        if not isinstance(node, ast.Starred):
            return (Grown(0, (self.word(node),)),)
        held = self.value(node.value, state)
        self.consumed |= {one.origin for one in held or ()}
        return held if held and not any(one.script for one in held) else (Grown(0, (unknown(node),)),)

    def _text(self, node: ast.Constant | ast.JoinedStr, state: State) -> tuple[Grown, ...] | None:
        if isinstance(node, ast.Constant):
            place = node.lineno, node.col_offset + 2
            return (Grown(id(node), (Word(node.value, *place),), True),) if isinstance(node.value, str) else None
        parts: list[tuple[Grown, ...]] = []
        line, column = node.lineno, node.col_offset + 3
        for part in node.values:
            if isinstance(part, ast.Constant):
                parts.append((Grown(0, (Word(str(part.value), line, column),), True),))
                continue
            inner = part.value if isinstance(part, ast.FormattedValue) else part
            held = self.value(inner, state)
            texts = held if held and all(one.script for one in held) else None
            parts.append(texts or (Grown(0, (unknown(inner, script=True),)),))
            line, column = inner.end_lineno or line, (inner.end_col_offset or 0) + 2
        return product(id(node), parts, script=True)

    def _called(self, node: ast.Call, state: State) -> tuple[Grown, ...] | None:
        """Return what `list(cmd)`, `cmd.copy()`, `text.split()` and `shlex.split(text)` give."""
        called, owner = name_of(node.func), node.func.value if isinstance(node.func, ast.Attribute) else None
        source = node.args[0] if len(node.args) == 1 else owner if not node.args else None
        if source is None or node.keywords or called not in ("list", "tuple", "copy", "split"):
            return None
        held = self.value(source, state)
        if held is None:
            return None
        self.consumed |= {one.origin for one in held}
        if called != "split":
            return tuple(Grown(id(node), one.words, one.script) for one in held)
        return tuple(Grown(id(node), tuple(_split(one))) for one in held if one.script) or None

    # ------------------------------------------------------------------------------------------ results

    def _held(self, state: State) -> list[Grown]:
        """Return what is held; to a list that another scope changes, more may have been added."""
        found: list[Grown] = []
        for key, held in state.items():
            open_ = (Word(f"*{key}", dynamic=True),) if key in self.outside else ()
            found += [Grown(one.origin, (*one.words, *open_), one.script) for one in held]
        return found

    def _emit(self, held: Sequence[Grown]) -> None:
        self.found |= dict.fromkeys(one for one in held if not one.script and _may_launch(one))

    def _loose(self, node: ast.expr, state: State) -> None:
        """Find lists that stand in an expression and are kept under no name."""
        held = self.value(node, state) if key_of(node) is None else None
        if held is not None and any(_may_launch(one) for one in held if not one.script):
            self._emit(held)
        else:
            self._inside(node, state)

    def _inside(self, node: ast.expr, state: State) -> None:
        if isinstance(node, ast.Call):
            self._call(node, state)
        for child in ast.iter_child_nodes(node):
            inner = child.value if isinstance(child, ast.keyword) else child
            inner = child.iter if isinstance(child, ast.comprehension) else inner
            if isinstance(inner, ast.expr):
                self._loose(inner, state)

    def _call(self, node: ast.Call, state: State) -> None:
        called = name_of(node.func)
        for argument in (*node.args, *(keyword.value for keyword in node.keywords)):
            key = key_of(argument)
            if key in state and called not in _LOOKING:
                self.passed |= {one.origin for one in state[str(key)]}
                if called in self.changers:
                    self._change(str(key), state, lambda words: (*words, unknown(node)))
        if called in _WORDS and len(node.args) >= _HEAD - 1:
            self._emit(product(id(node), [self._item(argument, state) for argument in node.args]))
        if called in SHELLS and node.args:
            texts = self.value(node.args[0], state)
            self.found |= dict.fromkeys(one for one in texts or () if one.script and _may_launch(one))


def _split(text: Grown) -> list[Word]:
    """Return the words of a text as a shell splits it."""
    whole, starts = text_of(text)
    return next(commands(whole, starts=starts), [])


def _may_launch(one: Grown) -> bool:
    return (one.script or len(one.words) >= _HEAD) and any("vllm" in word.text.lower() for word in one.words)
