"""YAML of other people with the place of every value: anchors, merges and tags are theirs to use, bombs are not.

Unlike the matrix reader this one accepts anchors, aliases, merge keys and unknown tags; every scalar stays the text
that was written. A document that grows by its aliases beyond a limit is refused.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

MAX_NODES = 200_000
MAX_DEPTH = 100


class YamlError(ValueError):
    """A text that is not YAML, or YAML too large to look at; `line` and `column` say where (from 1)."""

    def __init__(self, message: str, line: int = 1, column: int = 1) -> None:
        super().__init__(message)
        self.line = line
        self.column = column


class Node(msgspec.Struct):
    """A value with its place. `value` is text, a list of nodes, or a mapping of text to nodes.

    `style` is how a scalar is written: '' plain, ' or ", | literal, > folded.
    """

    value: Any
    line: int
    column: int
    style: str = ""
    tag: str = ""
    merged: bool = False
    """Whether another mapping takes this one in (`<<: *base`) and no list holds it: a part for others to use."""

    def get(self, *names: str) -> Node | None:
        """Return the node under these keys, or None."""
        node: Node | None = self
        for name in names:
            if node is None or not isinstance(node.value, dict):
                return None
            node = node.value.get(name)
        return node

    def items(self) -> list[Node]:
        """Return the items of a list; a single scalar counts as a list of one."""
        if isinstance(self.value, list):
            return self.value
        return [] if isinstance(self.value, dict) else [self]

    def text(self) -> str | None:
        """Return a scalar's text."""
        return self.value if isinstance(self.value, str) else None

    def is_null(self) -> bool:
        """Return whether nothing is written, or null."""
        return isinstance(self.value, str) and self.plain() is None

    def walk(self) -> Iterator[Node]:
        """Yield this node and every one below it."""
        yield self
        children = self.value.values() if isinstance(self.value, dict) else self.value
        if isinstance(self.value, (dict, list)):
            for child in children:
                yield from child.walk()

    def plain(self) -> Any:
        """Return the values without places, scalars as YAML 1.1 reads them."""
        if isinstance(self.value, dict):
            return {key: node.plain() for key, node in self.value.items()}
        if isinstance(self.value, list):
            return [node.plain() for node in self.value]
        return _scalar(self.value, self.tag)


def _scalar(text: str, tag: str) -> Any:
    kind = tag.removeprefix("tag:yaml.org,2002:")
    try:
        if kind == "bool":
            return text.lower() in ("true", "yes", "on")
        if kind == "int":
            return int(text.replace("_", ""), 0 if text.lower().startswith(("0x", "0o", "0b")) else 10)
        if kind == "float":
            return float(text.replace("_", ""))
    except ValueError:
        return text
    return None if kind == "null" else text


def read_lenient(text: str, file: str) -> list[Node]:
    """Return the documents of a YAML text. Raises `YamlError`."""
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    builder = _Builder(text)
    try:
        documents = [builder.build(root, 0) for root in yaml.compose_all(text, Loader=loader)]
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line, column = (mark.line + 1, mark.column + 1) if mark else (1, 1)
        template = "; this is a template: render it first, or --exclude it" if "{{" in text else ""
        raise YamlError(f"{file}: {error.problem or error.context}{template}", line, column) from error
    except (yaml.YAMLError, RecursionError) as error:
        raise YamlError(f"{file}: not readable as YAML: {str(error).splitlines()[0]}") from error
    return documents


def starts_of(node: Node, lines: list[str]) -> tuple[tuple[int, int, int], ...]:
    """Return where the pieces of a scalar's text stand in the file: (offset in the text, line, column), in order.

    `lines` are the lines of the file. Block scalars lose their indentation, folded and quoted ones their line breaks
    too; each line of the file is found again in the text, and what cannot be found (escapes) keeps the place before it.
    """
    text = node.text() or ""
    block = node.style in ("|", ">")
    column = node.column + (1 if node.style in ("'", '"') else 0)
    starts: list[tuple[int, int, int]] = [] if block else [(0, node.line, column)]
    at = 0
    for number in range(node.line if block else node.line - 1, len(lines)):
        raw = lines[number] if block or number >= node.line else lines[number][column - 1 :]
        content = raw.strip()
        if content and not block:
            content = content.rstrip("'\"") if node.style else content
        found = text.find(content, at) if content else -1
        if content and (found < 0 or text[at:found].strip()):
            break
        if content:
            skipped = len(raw) - len(raw.lstrip()) + 1
            if block or number >= node.line:
                starts.append((found, number + 1, skipped))
            at = found + len(content)
        if not text[at:].strip():
            break
    return tuple(starts) or ((0, node.line, node.column),)


class _Builder:
    def __init__(self, text: str) -> None:
        self.text = text
        self.count = 0
        self.items: set[int] = set()
        self.mappings: dict[int, Node] = {}

    def build(self, node: Any, depth: int) -> Node:
        self.count += 1
        line, column = node.start_mark.line + 1, node.start_mark.column + 1
        if self.count > MAX_NODES:
            raise YamlError(f"more than {MAX_NODES} values once its aliases are followed", line, column)
        if depth > MAX_DEPTH:
            raise YamlError(f"nested deeper than {MAX_DEPTH} levels, or an alias inside itself", line, column)
        if node.id == "scalar":
            return Node(node.value, line, column, node.style or "", node.tag)
        if node.id == "sequence":
            self.items.update(id(item) for item in node.value)
            return Node([self.build(item, depth + 1) for item in node.value], line, column, tag=node.tag)
        template = self.text[node.start_mark.index : node.end_mark.index]
        if template.startswith("{{") and template.endswith("}}") and any(key.id != "scalar" for key, _ in node.value):
            return Node(template, line, column)
        mapping: dict[str, Node] = {}
        merged: dict[str, Node] = {}
        for key, value in node.value:
            if key.id != "scalar":
                continue
            built = self.build(value, depth + 1)
            if key.tag == "tag:yaml.org,2002:merge" or key.value == "<<":
                for source in built.items() if isinstance(built.value, list) else [built]:
                    if isinstance(source.value, dict):
                        merged = source.value | merged
                for part in value.value if value.id == "sequence" else [value]:
                    if id(part) in self.mappings and id(part) not in self.items:
                        self.mappings[id(part)].merged = True
            else:
                mapping[key.value] = built
        made = Node(merged | mapping, line, column)
        self.mappings.setdefault(id(node), made)
        return made
