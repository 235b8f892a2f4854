"""What an expression of a Python file gives a command: lists of words, and texts, as far as they are written down."""

from __future__ import annotations

import ast
import re
import shlex
import string
from collections.abc import Callable, Sequence

from compatcheck.launch.files.python.grown import (
    MAX_VARIANTS,
    OPEN,
    Grown,
    State,
    key_of,
    only_head,
    opened,
    product,
    text_of,
    unknown,
)
from compatcheck.launch.files.python.values import name_of
from compatcheck.launch.model import Word
from compatcheck.launch.words import commands

Held = tuple[Grown, ...]
_PERCENT = re.compile(r"%(?:\((?P<name>\w+)\))?(?P<kind>[sdr%])")


class Parts:
    """Reads expressions, and notes which lists went into others."""

    def __init__(self, word: Callable[[ast.expr], Word]) -> None:
        self.word = word
        self.nodes: dict[int, ast.AST] = {}
        """The beginning of a list or text -> its node."""
        self.consumed: set[int] = set()
        """Lists that went into others."""
        self.outside: set[str] = set()
        """Names to which another scope than their own adds."""
        self.rewritten: set[str] = set()
        """Those of them of which it may replace words."""
        self.sources: dict[int, set[int]] = {}
        """Text -> the lists whose words it joins; they stay lists of their own until the text is run."""

    def value(self, node: ast.expr, state: State) -> Held | None:
        """Return the lists or texts that an expression may be; None where it is none that is written down."""
        key = key_of(node)
        if key is not None:
            return self.open(key, state.get(key)) or self._constant(node)
        if isinstance(node, (ast.List, ast.Tuple)):
            return self.product(node, [self.item(item, state) for item in node.elts])
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
            return self.product(node, parts, script=script)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod):
            return self._percent(node, state)
        if isinstance(node, ast.IfExp):
            both = [self.value(side, state) for side in (node.body, node.orelse)]
            return None if None in both else tuple(one for side in both for one in side or ())[:MAX_VARIANTS]
        return self._called(node, state) if isinstance(node, ast.Call) else None

    def open(self, key: str, held: Held) -> Held:
        """Return lists as a name holds them: to one that another scope changes, more may have been added."""
        if key not in self.outside:
            return held
        more = Word(f"*{key}", dynamic=True)
        opened_ = [only_head(more, one.words) if key in self.rewritten else (*one.words, more) for one in held]
        return tuple(one if one.script else Grown(one.origin, words) for one, words in zip(held, opened_, strict=True))

    def product(self, node: ast.AST, parts: Sequence[Held], *, script: bool = False) -> Held:
        """Return every sequence of the parts, as what begins at a node."""
        self.nodes[id(node)] = node
        for part in parts:
            for one in part:
                if one.origin in self.sources:
                    self.sources.setdefault(id(node), set()).update(self.sources[one.origin])
        return product(id(node), parts, script=script)

    def item(self, node: ast.expr, state: State) -> Held:
        """Return what an element adds to a list."""
        if not isinstance(node, ast.Starred):
            word = self.word(node)
            if word.dynamic and isinstance(node, ast.IfExp):
                return (*self.item(node.body, state), *self.item(node.orelse, state))[:MAX_VARIANTS]
            return (Grown(0, (word,)),)
        held = self.value(node.value, state)
        self.consumed |= {one.origin for one in held or ()}
        return held if held and not any(one.script for one in held) else (Grown(0, (unknown(node),)),)

    def _constant(self, node: ast.expr) -> Held | None:
        """Return a text that the file assigns once, which every scope sees."""
        word = self.word(node)
        if word.dynamic:
            return None
        self.nodes[id(node)] = node
        return (Grown(id(node), (word,), script=True),)

    # ------------------------------------------------------------------------------------------ texts

    def _text(self, node: ast.Constant | ast.JoinedStr, state: State) -> Held | None:
        if isinstance(node, ast.Constant):
            written = isinstance(node.value, str)
            word = Word(str(node.value), node.lineno, node.col_offset + 2)
            return self.product(node, [(Grown(0, (word,), script=True),)], script=True) if written else None
        parts: list[Held] = []
        line, column = node.lineno, node.col_offset + 3
        for part in node.values:
            if isinstance(part, ast.Constant):
                parts.append((Grown(0, (Word(str(part.value), line, column),), script=True),))
                continue
            inner = part.value if isinstance(part, ast.FormattedValue) else part
            plain = not isinstance(part, ast.FormattedValue) or (part.conversion == -1 and part.format_spec is None)
            parts.append(self._filled(inner, state) if plain else (Grown(0, (unknown(inner, script=True),)),))
            line, column = inner.end_lineno or line, (inner.end_col_offset or 0) + 2
        return self.product(node, parts, script=True)

    def _filled(self, node: ast.expr | None, state: State) -> Held:
        """Return what a place in a text is filled with."""
        held = self.value(node, state) if node is not None else None
        if held and all(one.script for one in held):
            return held
        word = self.word(node) if node is not None else Word(OPEN, dynamic=True)
        word = word if node is None or not word.dynamic else unknown(node, script=True)
        return (Grown(0, (word,), script=True),)

    def _percent(self, node: ast.BinOp, state: State) -> Held | None:
        """Return `"vllm serve %s" % MODEL`."""
        if not isinstance(node.left, ast.Constant) or not isinstance(node.left.value, str):
            return None
        text, given = node.left.value, node.right
        single = iter(given.elts if isinstance(given, ast.Tuple) else [given])
        by_name = dict(_named(given)) if isinstance(given, ast.Dict) else {}
        parts: list[Held] = []
        last = 0
        for match in _PERCENT.finditer(text):
            parts.append(_piece(text[last : match.start()], node.left, last))
            last = match.end()
            if match["kind"] == "%":
                parts.append(_piece("%", node.left, last))
            else:
                filling = by_name.get(match["name"]) if match["name"] else next(single, None)
                parts.append(self._filled(filling if match["kind"] != "r" else None, state))
        return self.product(node, [*parts, _piece(text[last:], node.left, last)], script=True)

    def _format(self, node: ast.Call, text: ast.Constant, state: State) -> Held | None:
        """Return `"vllm serve {}".format(MODEL)`."""
        by_name = {keyword.arg: keyword.value for keyword in node.keywords if keyword.arg is not None}
        parts: list[Held] = []
        offset = 0
        try:
            pieces = list(string.Formatter().parse(str(text.value)))
        except ValueError:
            return None
        for number, (literal, field, spec, conversion) in enumerate(pieces):
            parts.append(_piece(literal, text, offset))
            offset += len(literal) + len(field or "") + 2
            if field is None:
                continue
            at = int(field) if field.isdigit() else number if not field else None
            filling = by_name.get(field) if at is None else node.args[at] if at < len(node.args) else None
            parts.append(self._filled(filling if not spec and not conversion else None, state))
        return self.product(node, parts, script=True)

    # ------------------------------------------------------------------------------------------ calls

    def _called(self, node: ast.Call, state: State) -> Held | None:
        """Return what `list(cmd)`, `cmd.copy()`, `text.split()`, `shlex.split(text)`, `" ".join(cmd)` give."""
        called, owner = name_of(node.func), node.func.value if isinstance(node.func, ast.Attribute) else None
        if called == "format" and isinstance(owner, ast.Constant) and isinstance(owner.value, str):
            return self._format(node, owner, state)
        if called == "join" and len(node.args) == 1 and owner is not None:
            return self._joined(node, owner, state)
        source = node.args[0] if len(node.args) == 1 else owner if not node.args else None
        if called in ("strip", "rstrip", "lstrip", "dedent") and source is not None and not node.keywords:
            return self.value(source, state)
        if source is None or node.keywords or called not in ("list", "tuple", "copy", "deepcopy", "split"):
            return None
        held = self.value(source, state)
        if held is None or any(one.script != (called == "split") for one in held):
            return None
        self.consumed |= {one.origin for one in held}
        self.nodes[id(node)] = node
        return tuple(Grown(id(node), tuple(_split(one)) if one.script else one.words) for one in held)

    def _joined(self, node: ast.Call, owner: ast.expr, state: State) -> Held | None:
        quoted = isinstance(owner, ast.Name) and owner.id == "shlex"
        space = isinstance(owner, ast.Constant) and str(owner.value).strip() in ("", "\\")
        held = self.value(node.args[0], state) if quoted or space else None
        if not held or any(one.script for one in held):
            return None
        self.nodes[id(node)] = node
        self.sources[id(node)] = {one.origin for one in held}
        found: list[Grown] = []
        for one in held:
            words: list[Word] = []
            for word in one.words:
                text = shlex.quote(word.text) if quoted else word.text
                if word.dynamic:
                    text = text if text.startswith("-") and "=$" in text and not quoted else OPEN
                words += [Word(text, word.line, word.column, word.dynamic), Word(" ", word.line, word.column)]
            found.append(Grown(id(node), tuple(words), script=True))
        return tuple(found)


def _named(node: ast.Dict) -> list[tuple[str, ast.expr]]:
    pairs = zip(node.keys, node.values, strict=True)
    return [(str(key.value), value) for key, value in pairs if isinstance(key, ast.Constant)]


def _piece(text: str, node: ast.expr, offset: int) -> Held:
    return (Grown(0, (Word(text, node.lineno, node.col_offset + 2 + offset),), script=True),)


def _split(text: Grown) -> list[Word]:
    """Return the words of a text as a shell splits it."""
    whole, starts = text_of(text)
    return [opened(word) for word in next(commands(whole, starts=starts), [])]
