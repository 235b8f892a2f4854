"""What SARIF 2.1.0 asks of the parts that compatcheck writes, from its schema (sarif-schema-2.1.0.json)."""

from __future__ import annotations

from typing import Any

from jsonschema import Draft7Validator

_TEXT = {"type": "object", "required": ["text"], "properties": {"text": {"type": "string", "minLength": 1}}}
SCHEMA: dict[str, Any] = {
    "$schema": "http://json-schema.org/draft-07/schema#",
    "type": "object",
    "required": ["version", "runs"],
    "additionalProperties": False,
    "properties": {
        "$schema": {"type": "string", "format": "uri"},
        "version": {"enum": ["2.1.0"]},
        "runs": {"type": "array", "items": {"$ref": "#/definitions/run"}},
    },
    "definitions": {
        "run": {
            "type": "object",
            "required": ["tool"],
            "additionalProperties": False,
            "properties": {
                "tool": {
                    "type": "object",
                    "required": ["driver"],
                    "properties": {"driver": {"$ref": "#/definitions/component"}},
                },
                "results": {"type": "array", "items": {"$ref": "#/definitions/result"}},
            },
        },
        "component": {
            "type": "object",
            "required": ["name"],
            "additionalProperties": False,
            "properties": {
                "name": {"type": "string"},
                "version": {"type": "string"},
                "rules": {
                    "type": "array",
                    "uniqueItems": True,
                    "items": {
                        "type": "object",
                        "required": ["id"],
                        "additionalProperties": False,
                        "properties": {
                            "id": {"type": "string"},
                            "name": {"type": "string"},
                            "shortDescription": _TEXT,
                        },
                    },
                },
            },
        },
        "result": {
            "type": "object",
            "required": ["message"],
            "additionalProperties": False,
            "properties": {
                "ruleId": {"type": "string"},
                "ruleIndex": {"type": "integer", "minimum": -1},
                "level": {"enum": ["none", "note", "warning", "error"]},
                "message": _TEXT,
                "locations": {
                    "type": "array",
                    "items": {
                        "type": "object",
                        "additionalProperties": False,
                        "properties": {"physicalLocation": {"$ref": "#/definitions/place"}},
                    },
                },
            },
        },
        "place": {
            "type": "object",
            "required": ["artifactLocation"],
            "additionalProperties": False,
            "properties": {
                "artifactLocation": {
                    "type": "object",
                    "properties": {"uri": {"type": "string", "pattern": "^[A-Za-z0-9._~:/?#@!$&'()*+,;=%-]+$"}},
                },
                "region": {
                    "type": "object",
                    "additionalProperties": False,
                    "properties": {
                        "startLine": {"type": "integer", "minimum": 1},
                        "startColumn": {"type": "integer", "minimum": 1},
                    },
                },
            },
        },
    },
}


def check_sarif(log: Any) -> None:
    """Fail where a log breaks the schema, or a result's rule is not the one its index names."""
    errors = [f"{list(error.path)}: {error.message}" for error in Draft7Validator(SCHEMA).iter_errors(log)]
    assert errors == [], errors
    for run in log["runs"]:
        rules = run["tool"]["driver"]["rules"]
        for result in run["results"]:
            assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
