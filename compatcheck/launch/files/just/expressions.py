"""Expressions of just: texts, names, `+`, `/`, conditionals, and the functions whose result the file itself says.

Source: just's GRAMMAR.md and its manual, "Strings", "Conditional Expressions" and "Built-in Functions". What a backtick
or another function gives is unknown, and so is a conditional that asks for something unknown.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from compatcheck.launch.files.scripts import is_known

NAME = re.compile(r"[A-Za-z_][\w-]*")
_TOKEN = re.compile(
    r"(?P<text>[xf]?(?:'''.*?'''|\"\"\".*?\"\"\"|'[^']*'|\"(?:[^\"\\]|\\.)*\"))|(?P<tick>```.*?```|`[^`]*`)"
    r"|(?P<name>[A-Za-z_][\w-]*)|(?P<op>==|!=|=~|!~|&&|\|\||[^\s#])",
    re.S,
)
_SPACE = re.compile(r"[ \t\r]*(?:\\\r?\n[ \t]*)*")
_ESCAPE = re.compile(r"\\(n|r|t|\"|\\|\r?\n|u\{([0-9A-Fa-f]{1,6})\})")
_ESCAPES = {"n": "\n", "r": "\r", "t": "\t", '"': '"', "\\": "\\"}
_DEFAULTS = frozenset({"env", "env_var_or_default"})
MAX_DEPTH = 50
"""Expressions in expressions that are followed."""


class NotAnExpressionError(Exception):
    """What stands there is no expression that is understood."""


class Expression:
    """Reads one expression of a text from a place on; `at` is then the place after it."""

    def __init__(
        self,
        text: str,
        at: int,
        lookup: Callable[[str], str | None],
        unknown: Callable[[str], str],
        lines: bool = False,
        defaults: bool = True,
    ) -> None:
        self.text = text
        self.at = at
        self.lookup = lookup
        self.unknown = unknown
        self.defaults = defaults
        """Whether a variable of the environment is taken for unset, so that `env` gives its default."""
        self.depth = 0
        self.brackets = 1 if lines else 0
        """How many are open: inside them an expression goes over several lines."""

    def value(self) -> str:
        """Return what the expression gives, with marks for what is unknown."""
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise NotAnExpressionError
        start = self._skip()
        found = self._conditional(start) if self._word() == "if" else self._sum(start)
        self.depth -= 1
        return found

    def primary(self) -> str:
        """Return one value without operators: a text, a name, a call or what brackets hold."""
        start = self._skip()
        match = _TOKEN.match(self.text, start)
        if match is None:
            raise NotAnExpressionError
        self.at = match.end()
        if match["text"] is not None:
            return self._literal(match[0])
        if match["tick"] is not None:
            return self.unknown(match[0])
        if match["name"] is not None:
            return self._call(match[0], start) if self._takes("(") else self._named(match[0])
        if match[0] != "(":
            raise NotAnExpressionError
        self.brackets += 1
        found = self.value()
        self._needs(")")
        self.brackets -= 1
        return found

    def _sum(self, start: int) -> str:
        parts = ["/", self.primary()] if self._takes("/") else [self.primary()]
        while True:
            if self._takes("+"):
                parts.append(self.primary())
            elif self._takes("/"):
                parts += ["/", self.primary()]
            elif self._takes("&&") or self._takes("||"):
                self.primary()
                parts = [self.unknown(self.text[start : self.at])]
            else:
                return "".join(parts)

    def _conditional(self, start: int) -> str:
        self.at += len("if")
        left = self.value()
        operator = next((o for o in ("==", "!=", "=~", "!~") if self._takes(o)), None)
        right = self.value() if operator is not None else ""
        known = operator in ("==", "!=") and is_known(left + right)
        holds = (left == right) is (operator == "==")
        first = self._block()
        self._skip()
        if self._word() != "else":
            raise NotAnExpressionError
        self.at += len("else")
        self._skip()
        second = self.value() if self._word() == "if" else self._block()
        if known:
            return first if holds else second
        return first if first == second else self.unknown(f"{{{{ {self.text[start : self.at]} }}}}")

    def _block(self) -> str:
        self._needs("{")
        self.brackets += 1
        found = self.value()
        self._needs("}")
        self.brackets -= 1
        return found

    def _call(self, name: str, start: int) -> str:
        self.brackets += 1
        given: list[str] = []
        while not self._takes(")"):
            given.append(self.value())
            if not self._takes(","):
                self._needs(")")
                break
        self.brackets -= 1
        if self.defaults and name in _DEFAULTS and len(given) == 2:
            return given[1]
        if name == "quote" and len(given) == 1:
            return "'" + given[0].replace("'", "'\\''") + "'"
        return self.unknown(f"{{{{ {self.text[start : self.at]} }}}}")

    def _named(self, name: str) -> str:
        value = self.lookup(name)
        return self.unknown(f"{{{{{name}}}}}") if value is None else value

    def _literal(self, written: str) -> str:
        body = written.lstrip("xf")
        kind = written[: len(written) - len(body)]
        size = 3 if body.startswith(("'''", '"""')) else 1
        quote, body = body[0], body[size:-size]
        if (kind == "x" and re.search(r"[$~]", body)) or (kind == "f" and "{{" in body):
            return self.unknown(written)
        body = _dedented(body) if size == 3 else body
        return _ESCAPE.sub(_escaped, body) if quote == '"' else body

    # --------------------------------------------------------------------------------------- moving

    def _skip(self) -> int:
        while True:
            match = _SPACE.match(self.text, self.at)
            self.at = match.end() if match is not None else self.at
            if not self.brackets or self.text[self.at : self.at + 1] not in ("\n", "#"):
                return self.at
            end = self.text.find("\n", self.at)
            self.at = end + 1 if end >= 0 else len(self.text)

    def _word(self) -> str:
        match = NAME.match(self.text, self.at)
        return match[0] if match is not None else ""

    def _takes(self, operator: str) -> bool:
        self._skip()
        if not self.text.startswith(operator, self.at):
            return False
        self.at += len(operator)
        return True

    def _needs(self, operator: str) -> None:
        if not self._takes(operator):
            raise NotAnExpressionError


def statement_end(text: str, at: int) -> int:
    """Return where the expression of a statement ends: at the end of a line outside texts and brackets."""
    depth = 0
    while at < len(text):
        char = text[at]
        if char in "\n#" and not depth:
            return at
        if char == "#":
            end = text.find("\n", at)
            at = end if end >= 0 else len(text)
            continue
        if char.isspace() or (char == "\\" and text[at + 1 : at + 2] in ("\n", "\r")):
            at += 2 if char == "\\" else 1
            continue
        match = _TOKEN.match(text, at)
        if match is None:
            return len(text)
        depth += (match[0] in ("(", "{", "[")) - (match[0] in (")", "}", "]"))
        at = match.end()
    return at


def _escaped(match: re.Match[str]) -> str:
    if match[2]:
        number = int(match[2], 16)
        return match[0] if number > 0x10FFFF or 0xD800 <= number < 0xE000 else chr(number)
    return _ESCAPES.get(match[1], "")


def _dedented(text: str) -> str:
    text = text.removeprefix("\r").removeprefix("\n")
    lines = text.split("\n")
    width = min((len(line) - len(line.lstrip()) for line in lines if line.strip()), default=0)
    return "\n".join(line[width:] for line in lines)
