from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from compatcheck.matrix.json_schema import matrix_schema, render
from compatcheck.matrix.load import default_path
from compatcheck.matrix.yaml_reader import read_yaml

from .samples import SMALL, planted

CHECKED_IN = Path(__file__).parents[2] / "docs" / "matrix.schema.json"


def errors(text: str) -> list[str]:
    validator = jsonschema.Draft202012Validator(matrix_schema())
    return [error.json_path for error in validator.iter_errors(read_yaml(text, "m.yaml")[0])]


def test_schema_is_valid() -> None:
    jsonschema.Draft202012Validator.check_schema(matrix_schema())


def test_checked_in_schema_is_current() -> None:
    kept = json.loads(CHECKED_IN.read_text(encoding="utf-8"))
    assert kept == json.loads(render()), (
        f"python -m compatcheck.matrix.json_schema > {CHECKED_IN.name} makes it current"
    )


@pytest.mark.parametrize("text", [SMALL, default_path().read_text(encoding="utf-8")], ids=["sample", "packaged"])
def test_matrix_validates(text: str) -> None:
    assert errors(text) == []


@pytest.mark.parametrize(
    ("old", "new", "path"),
    [
        ("refuser: package", "refuser: pakage", "$.rules['helpers-missing'].refuser"),
        ("    fix: Upgrade.", "    fix: U.\n    wrods: []", "$.rules['helpers-missing']"),
        ('until: "0.3.0"', "until: soon", "$.engines.vllm.backends.FLASHINFER.until"),
        ('sms: [8.x, "9.0"]', "sms: [Hopper]", "$.kernels['flashinfer.fa2.prefill'].sms[0]"),
        ("{multiple_of: 8, le: 256}", "{multiple_off: 8}", "$.engines.vllm.backends.FLASH_ATTN.head_sizes"),
        ('sinks: {sm: [9.x, "12.0"]}', "sinks: {sm: {ge: 90}}", "$.engines.vllm.backends.FLASH_ATTN.changes[0].sinks"),
        ("schema: 1", "schema: 2", "$.schema"),
    ],
)
def test_schema_refuses(old: str, new: str, path: str) -> None:
    assert path in errors(planted(old, new))


def test_descriptions_come_from_the_model() -> None:
    definitions: dict[str, Any] = matrix_schema()["$defs"]
    assert definitions["Backend"]["properties"]["extends"]["description"].startswith("Another backend")
    assert definitions["Backend"]["properties"]["block_sizes"]["description"].startswith("Kernel block sizes")
    assert definitions["Rule"]["additionalProperties"] is False
