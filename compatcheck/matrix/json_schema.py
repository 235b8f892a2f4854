"""The JSON Schema of matrix.yaml, for editors: made from the model, so that it says what the loader accepts.

`python -m compatcheck.matrix.json_schema` prints it; docs/matrix.schema.json is that output. Descriptions are the
model's own docstrings. Conditions are described too: fields are offered; derived facts, which the file declares, are
allowed.
"""

from __future__ import annotations

import ast
import inspect
import json
import sys
from typing import Any

import msgspec

from compatcheck.matrix import linear_model, model, records
from compatcheck.resolve.conditions import OPERATORS
from compatcheck.resolve.configuration import FIELDS, VERSION_FIELDS

DIALECT = "https://json-schema.org/draft/2020-12/schema"
SM_PATTERN = r"^[0-9]{1,2}\.([0-9]|x)$"
VERSION_PATTERN = (
    r"^([0-9]+!)?[0-9]+(\.[0-9]+)*((a|b|rc)[0-9]+)?(\.post[0-9]+)?(\.dev[0-9]+)?(\+[a-z0-9]+([-_.][a-z0-9]+)*)?$"
)
_VERSION_KEYS = frozenset({"since", "until", "flashinfer", "torch", "cuda"})
_IN_PARTS = frozenset({"libraries", "kernels", "rules"})
"""Sections that a file with `include` may leave to its parts."""
_CONDITION = {"$ref": "#/$defs/Condition"}


def matrix_schema() -> dict[str, Any]:
    """Return the schema as plain values."""
    made = msgspec.json.schema(model.Matrix)
    definitions: dict[str, Any] = made["$defs"]
    documented = _field_descriptions()
    for name, definition in definitions.items():
        for field, schema in definition.get("properties", {}).items():
            properties = definition["properties"]
            properties[field] = _refined(field, schema)
            if (name, field) in documented:
                properties[field] = {**properties[field], "description": documented[name, field]}
    _sm_keys(definitions["Matrix"]["properties"]["sms"])
    definitions["Kernel"]["properties"]["sms"]["items"] = {"type": "string", "pattern": SM_PATTERN}
    definitions["Engine"]["properties"]["releases"]["propertyNames"] = {"pattern": VERSION_PATTERN}
    definitions["Grant"]["properties"]["values"] = {"$ref": "#/$defs/Comparison"}
    _short_forms(definitions)
    whole = definitions["Matrix"]
    whole["required"] = [name for name in whole["required"] if name not in _IN_PARTS]
    definitions["Condition"] = _condition()
    definitions["Comparison"] = _comparison()
    return {
        "$schema": DIALECT,
        "title": "compatcheck matrix",
        "$ref": made["$ref"],
        "$defs": dict(sorted(definitions.items())),
    }


def render() -> str:
    """Return the schema as the text of docs/matrix.schema.json."""
    return json.dumps(matrix_schema(), indent=2, ensure_ascii=False) + "\n"


def _refined(field: str, schema: dict[str, Any]) -> dict[str, Any]:
    """Return a field's schema with conditions and versions described."""
    if schema == {"type": "object"} or schema.get("additionalProperties") == {}:
        return dict(_CONDITION)
    if "anyOf" in schema:
        options = [_refined(field, option) for option in schema["anyOf"]]
        return {**schema, "anyOf": options}
    if field in _VERSION_KEYS and schema.get("type") == "string":
        return {**schema, "pattern": VERSION_PATTERN}
    return schema


def _short_forms(definitions: dict[str, Any]) -> None:
    """Let the schema accept what `compatcheck.matrix.shorthand` writes out."""
    text = {"type": "string", "description": "file:symbol@version, an address, or run: ...; a remark follows ' -- '."}
    for definition in definitions.values():
        for name, sources in definition.get("properties", {}).items():
            if name.endswith("sources") and "items" in sources:
                sources["items"] = {"anyOf": [text, sources["items"]]}
    rule = definitions["Rule"]
    long = ("refuser", "bites", "effect")
    parts = {short: rule["properties"][name] for short, name in zip(("by", "at", "effect"), long, strict=True)}
    rule["properties"]["stops"] = {
        "type": "object",
        "properties": parts,
        "required": list(parts),
        "additionalProperties": False,
        "description": "Who refuses, when it bites, and what that means for the verdict, in short.",
    }
    rule["required"] = [name for name in rule["required"] if name not in long]
    rule["anyOf"] = [{"required": ["stops"]}, {"required": list(long)}]


def _sm_keys(schema: dict[str, Any]) -> None:
    schema["propertyNames"] = {"pattern": r"^[0-9]{1,2}\.[0-9]$"}


def _condition() -> dict[str, Any]:
    sm = {"type": "string", "pattern": SM_PATTERN}
    sms: dict[str, Any] = {"anyOf": [sm, {"type": "array", "items": sm, "minItems": 1}]}
    inner = {"type": "object", "properties": {"in": sms, "not": sms}, "additionalProperties": False}
    properties: dict[str, Any] = {
        "all_of": {"type": "array", "items": _CONDITION, "minItems": 1, "description": "Every condition holds."},
        "any_of": {"type": "array", "items": _CONDITION, "minItems": 1, "description": "One condition holds."},
        "not": {**_CONDITION, "description": "The condition does not hold."},
    }
    for field in FIELDS:
        if field in VERSION_FIELDS:
            properties[field] = {"type": "string", "description": "A PEP 440 range, such as >=0.6.15.dev0."}
        elif field == "sm":
            properties[field] = {"anyOf": [*sms["anyOf"], inner], "description": "SMs or families, never a bound."}
        else:
            properties[field] = {"$ref": "#/$defs/Comparison"}
    return {
        "title": "Condition",
        "description": "Every entry holds. A field that is not known makes the condition unknown, not false.",
        "type": "object",
        "properties": properties,
        "additionalProperties": {"$ref": "#/$defs/Comparison"},
    }


def _comparison() -> dict[str, Any]:
    scalar: dict[str, Any] = {"type": ["string", "integer", "boolean"]}
    several = {"type": "array", "items": scalar, "minItems": 1}
    number = {"type": "integer"}
    operand: dict[str, Any] = {
        "in": several,
        "not": {"$ref": "#/$defs/Comparison"},
        "prefix": {"type": "string"},
        "suffix": {"type": "string"},
        "absent": {"type": "boolean"},
        "known": {"const": True},
        "multiple_of": {"type": "integer", "minimum": 1},
    }
    comparisons = {key: operand.get(key, number) for key in sorted(OPERATORS)}
    mapping = {"type": "object", "properties": comparisons, "additionalProperties": False, "minProperties": 1}
    return {
        "title": "Comparison",
        "description": "A value (equals), a list (one of), or comparisons that all hold.",
        "anyOf": [scalar, several, mapping],
    }


def _field_descriptions() -> dict[tuple[str, str], str]:
    """Return the text under each field of the model's source: (class, field) -> text."""
    found: dict[tuple[str, str], str] = {}
    modules = (records, linear_model, model)
    for node in [node for module in modules for node in ast.parse(inspect.getsource(module)).body]:
        if isinstance(node, ast.ClassDef):
            for field, text in zip(node.body, node.body[1:], strict=False):
                if (
                    isinstance(field, ast.AnnAssign)
                    and isinstance(field.target, ast.Name)
                    and isinstance(text, ast.Expr)
                    and isinstance(text.value, ast.Constant)
                    and isinstance(text.value.value, str)
                ):
                    found[node.name, field.target.id] = inspect.cleandoc(text.value.value)
    inherited = dict(found)
    for name, cls in {name: cls for module in modules for name, cls in vars(module).items()}.items():
        for base in getattr(cls, "__mro__", ())[1:]:
            for (owner, field_name), words in found.items():
                if owner == base.__name__:
                    inherited.setdefault((name, field_name), words)
    return inherited


if __name__ == "__main__":
    sys.stdout.write(render())
