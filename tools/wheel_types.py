"""The configuration classes and types of one unpacked vLLM wheel, read as syntax trees; see generate_flags.py."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

Spec = dict[str, Any]

SIZES = frozenset(
    {
        "max_num_batched_tokens",
        "max_num_scheduled_tokens",
        "kv_cache_memory_bytes",
        "safetensors_prefetch_block_size",
        "max_num_queued_tokens",
    }
)
"""Fields that `get_kwargs` reads with `human_readable_int` (1k, 2M)."""

_BUILTINS = {"str", "int", "float", "bool", "dict", "list", "set", "tuple", "None"}


@dataclass
class Wheel:
    """The parts of one release that define arguments."""

    root: Path
    classes: dict[str, ast.ClassDef] = field(default_factory=dict)
    literals: dict[str, ast.expr] = field(default_factory=dict)
    dict_subclasses: set[str] = field(default_factory=set)

    @classmethod
    def read(cls, root: Path) -> Wheel:
        """Index the configuration classes and the type aliases of a release."""
        wheel = cls(root)
        files = [*(root / "config").rglob("*.py"), *(root / "entrypoints").rglob("cli_args.py")]
        files += [root / "engine" / "arg_utils.py"]
        for file in files:
            for node in ast.parse(file.read_text("utf-8")).body:
                if isinstance(node, ast.ClassDef):
                    wheel.classes.setdefault(node.name, node)
                    if any(isinstance(base, ast.Name) and base.id == "dict" for base in node.bases):
                        wheel.dict_subclasses.add(node.name)
        pattern = re.compile(r"^(\w+)(?:: TypeAlias)? = Literal\[", re.M)
        for file in root.rglob("*.py"):
            text = file.read_text("utf-8", errors="replace")
            if not pattern.search(text):
                continue
            for node in ast.parse(text).body:
                name, value = assigned(node)
                if name and isinstance(value, ast.Subscript) and name_of(value.value) == "Literal":
                    wheel.literals.setdefault(name, value)
        return wheel

    def fields(self, class_name: str) -> dict[str, ast.expr]:
        """Return a class's annotated fields, those of its bases first."""
        node = self.classes[class_name]
        found: dict[str, ast.expr] = {}
        for base in node.bases:
            name = name_of(base)
            if name in self.classes:
                found |= self.fields(name)
        for item in node.body:
            if (
                isinstance(item, ast.AnnAssign)
                and isinstance(item.target, ast.Name)
                and "ClassVar" not in ast.dump(item.annotation)
                and "InitVar" not in ast.dump(item.annotation)
            ):
                found[item.target.id] = item.annotation
        return found


def assigned(node: ast.stmt) -> tuple[str | None, ast.expr | None]:
    """Return the name and the value of an assignment to one name."""
    if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
        return node.targets[0].id, node.value
    if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
        return node.target.id, node.value
    return None, None


def name_of(node: ast.expr | None) -> str | None:
    """Return a name, or the last part of a dotted one."""
    if isinstance(node, ast.Name):
        return node.id
    return node.attr if isinstance(node, ast.Attribute) else None


# --------------------------------------------------------------------------------------- annotations


def hints(wheel: Wheel, node: ast.expr) -> list[ast.expr]:
    """Return the members of an annotation: unions taken apart, `Annotated` and quotes removed, aliases followed."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return hints(wheel, ast.parse(node.value, mode="eval").body)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        return hints(wheel, node.left) + hints(wheel, node.right)
    if isinstance(node, ast.Subscript):
        outer = name_of(node.value)
        inner = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        if outer in ("Optional", "Union"):
            more: list[ast.expr] = [ast.Constant(None)] if outer == "Optional" else []
            return [hint for item in inner for hint in hints(wheel, item)] + more
        if outer in ("Annotated", "SkipValidation"):
            return hints(wheel, inner[0])
    name = name_of(node)
    if name in wheel.literals:
        return [wheel.literals[name]]
    return [node]


def options_of(wheel: Wheel, literal: ast.expr) -> list[Any]:
    """Return the values of a `Literal`, nested aliases included."""
    assert isinstance(literal, ast.Subscript)
    items = literal.slice.elts if isinstance(literal.slice, ast.Tuple) else [literal.slice]
    values: list[Any] = []
    for item in items:
        if isinstance(item, ast.Constant):
            values.append(item.value)
        elif name_of(item) in wheel.literals:
            values += options_of(wheel, wheel.literals[str(name_of(item))])
        else:
            values += options_of(wheel, item)
    return values


def spec_of(wheel: Wheel, name: str, annotation: ast.expr) -> Spec:
    """Return how an option takes its value, as vLLM's `get_kwargs` decides it from the annotation."""
    members = hints(wheel, annotation)
    names = {_outer(member) for member in members}
    names = {"dict" if member in wheel.dict_subclasses else member for member in names}
    dataclass_name = next((n for n in names if n in wheel.classes and n not in wheel.dict_subclasses), None)
    if dataclass_name is not None and not _is_enum(wheel, dataclass_name):
        return {"kind": "json", "class": dataclass_name}
    if names == {"bool", "str", "None"}:
        return {"kind": "optional"}
    if "bool" in names:
        return {"kind": "bool"}
    literal = next((member for member in members if _outer(member) == "Literal"), None)
    if literal is not None:
        values = options_of(wheel, literal)
        if "str" in names:
            return {"kind": "str"}
        return {"kind": "choices", "choices": values}
    if names & {"tuple", "list", "set"}:
        return {"kind": "list"}
    if "int" in names:
        if name == "max_model_len" or name in SIZES:
            return {"kind": "size"}
        return {"kind": "int"}
    if "float" in names:
        return {"kind": "float"}
    if "dict" in names:
        foreign = names - _BUILTINS
        return {"kind": "json-or-str" if "str" in names or foreign else "json"}
    return {"kind": "str"}


def _outer(node: ast.expr) -> str:
    if isinstance(node, ast.Constant) and node.value is None:
        return "None"
    if isinstance(node, ast.Subscript):
        return str(name_of(node.value))
    return str(name_of(node))


def _is_enum(wheel: Wheel, name: str) -> bool:
    return any(
        (name_of(base) or "").endswith("Enum") or name_of(base) == "Protocol" for base in wheel.classes[name].bases
    )
