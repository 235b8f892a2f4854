"""Calls of a Python file that start a command, or only look at one."""

from __future__ import annotations

import ast

import msgspec

from compatcheck.launch.files.python.grown import Grown
from compatcheck.launch.files.python.values import name_of

SHELLS = frozenset(
    {
        *("run", "Popen", "call", "check_call", "check_output", "system", "popen", "getoutput", "getstatusoutput"),
        "create_subprocess_shell",
    }
)
"""Functions of subprocess and os that take a command, also as one text."""
WORDS = frozenset({"create_subprocess_exec", "execlp", "execl", "execle", "execlpe", "spawnlp"})
"""Functions that take the words of a command one by one; those of os have the program in front of them."""
_LISTS = frozenset({"execv", "execve", "execvp", "execvpe", "spawnv", "spawnvp", "spawnve", "spawnvpe"})
"""Functions of os that take the program, then the list of its words."""
_ENVIRONMENT_LAST = frozenset({"execle", "execlpe", "execve", "execvpe", "spawnve", "spawnvpe"})
_LOOKING = frozenset({"print", "join", "len", "info", "debug", "warning", "error", "log", "echo", "repr", "str"})
_LOOKING |= {"exception", "critical", "format", "dumps", "dump", "write", "isinstance", "sorted", "Mock", "MagicMock"}


class Run(msgspec.Struct, frozen=True, eq=False):
    """A call that starts a command, with the environment that it is given."""

    call: ast.Call
    env: ast.expr | None = None


class Command(msgspec.Struct, frozen=True, eq=False):
    """A list or text that may launch, and the calls that start it.

    `loose` are calls that start what nobody knows, with an environment of their own: this one perhaps.
    """

    grown: Grown
    node: ast.AST
    runs: tuple[Run, ...] = ()
    loose: tuple[Run, ...] = ()


def looks(node: ast.Call) -> bool:
    """Return whether a call looks at a list and starts nothing: it prints it, or a test compares it."""
    called = name_of(node.func)
    return called in _LOOKING or called.lower().startswith(("assert", "expect"))


def starts(node: ast.Call) -> bool:
    """Return whether a call starts a command."""
    return name_of(node.func) in SHELLS | WORDS | _LISTS


def run_of(node: ast.Call) -> Run | None:
    """Return the start of a command that a call is, or that its `env=` says it leads to."""
    env = next((keyword.value for keyword in node.keywords if keyword.arg == "env"), None)
    if env is None and name_of(node.func) in _ENVIRONMENT_LAST and node.args:
        env = node.args[-1]
    return Run(node, env) if env is not None or starts(node) else None


def started(node: ast.Call) -> list[ast.expr]:
    """Return the arguments of which one is the command."""
    if name_of(node.func) in SHELLS:
        named = [keyword.value for keyword in node.keywords if keyword.arg in ("args", "cmd", "command")]
        return [*node.args[:1], *named]
    return [*node.args, *(keyword.value for keyword in node.keywords if keyword.arg != "env")]
