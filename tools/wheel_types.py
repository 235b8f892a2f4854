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


@dataclass(eq=False)
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
        """Return the annotations of a class's fields, those of its bases first."""
        return {name: item.annotation for name, item in self.declarations(class_name).items()}

    def declarations(self, class_name: str) -> dict[str, ast.AnnAssign]:
        """Return the declarations of a class's fields, those of its bases first."""
        node = self.classes[class_name]
        found: dict[str, ast.AnnAssign] = {}
        for base in node.bases:
            name = name_of(base)
            if name in self.classes:
                found |= self.declarations(name)
        for item in node.body:
            if (
                isinstance(item, ast.AnnAssign)
                and isinstance(item.target, ast.Name)
                and "ClassVar" not in ast.dump(item.annotation)
                and "InitVar" not in ast.dump(item.annotation)
            ):
                found[item.target.id] = item
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


BOUNDS = ("ge", "gt", "le", "lt")
CHECKED = frozenset({"int", "size", "float", "bool", "choices"})
"""Kinds of fields whose values pydantic compares with nothing but the type and its bounds."""


def limits_of(declaration: ast.AnnAssign) -> Spec:
    """Return the bounds that a field's `Field(...)` sets, and whether it takes None."""
    limits: Spec = {}
    for call in ast.walk(declaration):
        if isinstance(call, ast.Call) and name_of(call.func) == "Field":
            for keyword in call.keywords:
                if keyword.arg in BOUNDS:
                    limits[keyword.arg] = ast.literal_eval(keyword.value)
    return limits


def takes_none(wheel: Wheel, annotation: ast.expr) -> bool:
    """Return whether None is among a field's types."""
    return any(_outer(member) == "None" for member in hints(wheel, annotation))


def types_of(wheel: Wheel, class_name: str) -> Spec:
    """Return field -> the kind of its values, for fields that nothing but their type and bounds checks."""
    node = wheel.classes[class_name]
    own = {name for item in node.body for name in _validated(item)}
    if "*" in own or not is_config(node):
        return {}
    found: Spec = {}
    for name, declaration in wheel.declarations(class_name).items():
        spec = spec_of(wheel, name, declaration.annotation)
        if name.startswith("_") or name in own or spec["kind"] not in CHECKED:
            continue
        if spec["kind"] == "bool" and {_outer(m) for m in hints(wheel, declaration.annotation)} - {"bool", "None"}:
            continue
        none = {"none": True} if takes_none(wheel, declaration.annotation) else {}
        found[name] = {**spec, **limits_of(declaration), **none}
    return found


def is_config(node: ast.ClassDef) -> bool:
    """Return whether a class is one of vLLM's `@config`: a pydantic dataclass, which checks what it is given."""
    called = [item.func if isinstance(item, ast.Call) else item for item in node.decorator_list]
    return any(name_of(item) == "config" for item in called)


def _validated(item: ast.stmt) -> list[str]:
    """Return the fields that a method looks at before their types are checked; "*" for all of them."""
    if not isinstance(item, ast.FunctionDef):
        return []
    for call in item.decorator_list:
        if not isinstance(call, ast.Call):
            continue
        mode = next(
            (k.value.value for k in call.keywords if k.arg == "mode" and isinstance(k.value, ast.Constant)), "after"
        )
        if name_of(call.func) == "model_validator" and mode != "after":
            return ["*"]
        if name_of(call.func) == "field_validator" and mode != "after":
            return [str(arg.value) for arg in call.args if isinstance(arg, ast.Constant)]
    return []


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
