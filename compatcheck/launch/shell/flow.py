"""The order in which a shell runs commands: branches, loops, functions, subshells, `&&` and `||`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Protocol

from compatcheck.launch.model import Word
from compatcheck.launch.shell.scanner import Command, Scanner

_ASKING = frozenset(
    {"[", "[[", "test", "((", "!", "grep", "egrep", "fgrep", "rg", "command", "which", "type", "hash", "pgrep", "diff"}
) | frozenset({"cmp", "false", "nvidia-smi", "lspci", "ping", "nc", "lsof", "mountpoint", "pidof", "expr"})
"""Commands that ask something: `&&` behind them means "only if"."""
MAX_OPEN = 500
"""Parts in parts of a text; the last ones are not followed."""
_CLOSERS = {"fi": ("if",), "done": ("loop",), "esac": ("case",), "}": ("group", "function")}
_HEADS = frozenset({"for", "select", "case"})
FUNCTIONS = frozenset({"function", "subfunction"})
"""Scopes that are the body of a function, in braces or in parentheses."""
_FUNCTION = re.compile(r"[A-Za-z_][\w.:-]*")


_PROMPTS = frozenset({"$", "%", ">", "#"})
_PROMPT = re.compile(r"^[\w.-]+@[\w.-]+:\S*[$#]$")


def is_prompt(word: Word) -> bool:
    """Return whether a word is what a shell writes in front of a command."""
    return not word.dynamic and (word.text in _PROMPTS or _PROMPT.match(word.text) is not None)


class State(Protocol):
    """What follows a text's structure."""

    def enter(self, kind: str, offset: int, words: list[Word]) -> None:
        """Note that a scope starts; `words` are those of a loop's head, or a function's name."""

    def branch(self, *, last: bool) -> None:
        """Note that another branch of the innermost scope starts."""

    def leave(self, kind: str, *, discard: bool) -> None:
        """Note that the innermost scope ends."""

    def asks(self, name: str) -> bool:
        """Return whether a command is a function of the text, of which nobody knows what it answers."""


class _Flow:
    def __init__(self, state: State) -> None:
        self.state = state
        self.open: list[str] = []
        self.asked = False
        """Whether the last command asks something."""
        self.negated = False
        self.function = ""
        """The name of a function whose body comes next."""
        self.default = False
        """Whether one of the alternatives of a pattern is `*`."""

    def enter(self, kind: str, offset: int, words: list[Word] | None = None) -> None:
        if len(self.open) < MAX_OPEN:
            self.open.append(kind)
            self.state.enter(kind, offset, words or [])

    def leave(self, *kinds: str, discard: bool = False) -> None:
        """End the innermost scope of a kind, with what stands open in it; nothing where there is none."""
        if not any(kind in self.open for kind in kinds):
            return
        while True:
            kind = self.open.pop()
            if kind != "pattern":
                self.state.leave(kind, discard=discard or kind in ("subshell", *FUNCTIONS))
            if kind in kinds:
                return

    def close_chain(self) -> None:
        if self.open[-1:] == ["chain"]:
            self.leave("chain")

    def keyword(self, word: Word, command: Command) -> bool:
        """Follow a keyword; False where the word is none."""
        text = word.text
        if text in ("if", "while", "until"):
            self.enter("if" if text == "if" else "loop", command.offset)
        elif text in ("else", "elif"):
            self.close_chain()
            if self.open[-1:] == ["if"]:
                self.state.branch(last=text == "else")
        elif text in _CLOSERS:
            discard = text == "}" and command.ended in ("&", "|")
            self.leave(*_CLOSERS[text], discard=discard)
        elif text == "{":
            self.body(command, "group", "function")
        else:
            return text in ("then", "do", "!")
        return True

    def body(self, command: Command, kind: str, of_function: str) -> None:
        """Enter a group, which may be a function's body."""
        name, self.function = self.function, ""
        self.enter(of_function if name else kind, command.offset, [Word(name)])

    def head(self, words: list[Word], command: Command) -> None:
        """Enter what `for`, `select` or `case` begins with these words."""
        if words[0].text != "case":
            self.enter("loop", command.offset, words)
            return
        self.enter("case", command.offset)
        self.open += ["pattern"] if self.open[-1] == "case" else []
        if command.ended == ")":
            self.pattern(command)

    def pattern(self, command: Command) -> None:
        """Read the pattern of a `case`, or one of its alternatives."""
        self.default = self.default or [word.text for word in command.words][-1:] == ["*"]
        if command.ended == ")" and self.open[-1] == "pattern":
            self.open.pop()
            self.state.branch(last=self.default)
            self.default = False

    def operator(self, command: Command) -> None:
        """Follow the operator behind a command that defines no function."""
        if command.ended == "||":
            if self.open[-1:] == ["chain"]:
                self.state.branch(last=False)
            else:
                self.enter("chain", command.offset)
        elif command.ended == "&&":
            if self.asked and self.open[-1:] != ["chain"]:
                self.enter("chain", command.offset)
        elif command.ended in (";", "\n", "&", ""):
            self.close_chain()
        elif command.ended == "(":
            self.body(command, "subshell", "subfunction")
        elif command.ended == ")" and (command.words or not self.function):
            self.leave("subshell", "subfunction")
        elif command.ended == ";;" and "case" in self.open:
            while self.open[-1] != "case":
                self.leave(self.open[-1])
            self.open.append("pattern")


def walk(scanner: Scanner, state: State) -> Iterator[tuple[list[Word], Command]]:
    """Yield the simple commands without keywords, and tell the state what is run when."""
    flow = _Flow(state)
    for command in scanner.run():
        words, plain = command.words, command.plain
        if flow.open[-1:] == ["pattern"]:
            if not (plain[:1] == [True] and words[0].text == "esac"):
                flow.pattern(command)
                continue
            flow.open.pop()
        at = next((i for i, word in enumerate(words) if not is_prompt(word)), len(words))
        while at < len(words) and plain[at] and flow.keyword(words[at], command):
            at += 1
        rest = words[at:]
        first = rest[0].text if rest and plain[at] else ""
        defines = command.ended == "(" and len(rest) == 1 and _FUNCTION.fullmatch(first) is not None
        if defines or (first == "function" and len(rest) > 1):
            flow.function = rest[-1 if defines else 1].text
            if len(rest) > 2 and rest[2].text == "{":
                flow.body(command, "group", "function")
                rest = rest[3:]
            else:
                continue
        elif first in _HEADS:
            flow.head(rest, command)
            continue
        elif rest:
            flow.function = ""
        flow.negated = flow.negated or any(word.text == "!" for word in words[:at])
        if rest:
            flow.asked = flow.negated or rest[0].text in _ASKING or state.asks(rest[0].text)
            flow.negated = False
        elif command.ended not in (" ", ")"):
            flow.asked = False
        if rest:
            yield rest, command
        flow.operator(command)
    while flow.open:
        flow.leave(flow.open[-1])
