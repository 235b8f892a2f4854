"""The environment of launches in a Python file: `os.environ` and what else sets it, and `env=` of subprocess."""

from __future__ import annotations

import ast

from compatcheck.launch.files.python.bindings import Place
from compatcheck.launch.files.python.changers import changed_names
from compatcheck.launch.files.python.changes import Changes
from compatcheck.launch.files.python.mappings import Held, Mappings
from compatcheck.launch.files.python.scopes import Scopes
from compatcheck.launch.files.python.settings import elsewhere_of, variables_of
from compatcheck.launch.files.python.values import Values
from compatcheck.launch.model import Word

Environment = tuple[dict[str, Word], tuple[Word, ...]]
"""The variables, and the parts of the file that may hold more."""


class Environments:
    """Everything that is read of a file before its launches."""

    def __init__(self, tree: ast.Module) -> None:
        self.scopes = Scopes(tree)
        self.values = Values(self.scopes, changed_names(self.scopes))
        self.changes = Changes(self.scopes)
        self.mappings = Mappings(self.scopes, self.values, self.changes)
        self.names: dict[int, ast.Name] = {}
        """Values that are assigned, by their identity -> the name that holds them."""
        self.passed: dict[str, list[Place]] = {}
        """Names that are given to a call -> where."""
        for node in self.scopes.nodes:
            if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
                self.names[id(node.value)] = node.targets[0]
            elif isinstance(node, ast.Call):
                for argument in (*node.args, *(keyword.value for keyword in node.keywords)):
                    if isinstance(argument, ast.Name):
                        self.passed.setdefault(argument.id, []).append(self.scopes.at[id(node)])

    def at(self, node: ast.AST, *, exact: bool) -> Environment:
        """Return the environment of the process where a launch stands."""
        return self._said(self.mappings.environment(self.scopes.at[id(node)], exact=exact))

    def given(self, env: ast.expr) -> Environment:
        """Return the environment that `env=` gives to a command."""
        if isinstance(env, ast.Constant) and env.value is None:
            return self.at(env, exact=True)
        return self._said(self.mappings.read(env, exact=True) or Held(elsewhere=[env]))

    def _said(self, held: Held) -> Environment:
        return variables_of(held, self.values), elsewhere_of(held.elsewhere)


def either(environments: list[Environment]) -> Environment:
    """Return what several environments have in common; of the rest nobody knows which holds."""
    names = dict.fromkeys(name for variables, _ in environments for name in variables)
    found: dict[str, Word] = {}
    for name in names:
        words = [variables[name] for variables, _ in environments if name in variables]
        same = len(words) == len(environments) and len({(word.text, word.dynamic) for word in words}) == 1
        found[name] = words[0] if same else Word(words[0].text, words[0].line, words[0].column, dynamic=True)
    return found, tuple(dict.fromkeys(word for _, elsewhere in environments for word in elsewhere))
