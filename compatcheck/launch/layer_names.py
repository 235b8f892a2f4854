"""Which layers a checkpoint's lists of names mean: exact names, `re:` expressions, and ModelOpt's wildcards.

Sources: vllm/model_executor/layers/quantization/utils/config_utils.py:is_equal_or_regex_match@0.33.0 and
vllm/model_executor/layers/quantization/modelopt.py:ModelOptQuantConfigBase.is_layer_excluded@0.33.0.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from fnmatch import translate
from functools import lru_cache

from compatcheck.launch.name_patterns import Name, Step, UnjudgedError, compiled

MAX_TOTAL = 20_000
"""Most steps that all expressions of a checkpoint together may take on a name."""


class Expressions:
    """The `re:` expressions among names; `unjudged` are those of which it is not known here what they fit."""

    def __init__(self, names: Iterable[str]) -> None:
        self._steps: dict[str, Step] = {}
        self.unjudged: list[str] = []
        left = MAX_TOTAL
        for name in dict.fromkeys(names):
            if not name.startswith("re:"):
                continue
            try:
                step, cost = compiled(name[3:])
            except UnjudgedError:
                self.unjudged.append(name)
                continue
            left -= cost
            if left < 0:
                self.unjudged.append(name)
            else:
                self._steps[name] = step

    def fit(self, expression: str, layer: str) -> bool:
        """Return whether an expression fits a layer's name; False for one that is not judged."""
        step = self._steps.get(expression)
        return step is not None and step(_name(layer), 1) != 0


class LayerNames:
    """The layers that a list of names means."""

    def __init__(self, names: tuple[str, ...], expressions: Expressions, *, wildcards: bool) -> None:
        """`wildcards`: a name without "re:" is ModelOpt's, which also fits as a part of a name."""
        self._expressions = expressions
        self._marked = [name for name in names if name.startswith("re:")]
        plain = [name for name in names if not name.startswith("re:")]
        self._exact = frozenset(plain)
        self._parts = plain if wildcards else []
        wild = [f"(?:{translate(name)})" for name in plain if wildcards and has_wildcard(name)]
        self._wild = re.compile("|".join(wild)) if wild else None

    def have(self, layer: str) -> bool:
        """Return whether the layer with this name is one of them."""
        return (
            layer in self._exact
            or any(part in layer for part in self._parts)
            or (self._wild is not None and self._wild.match(layer) is not None)
            or any(self._expressions.fit(expression, layer) for expression in self._marked)
        )


def has_wildcard(name: str) -> bool:
    """Return whether a name has one of the shell's wildcards."""
    return any(mark in name for mark in "*?[")


@lru_cache(maxsize=4096)
def _name(layer: str) -> Name:
    return Name(layer)
