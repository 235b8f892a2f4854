"""Configurations that a rule or check speaks of (positive), and near ones that it does not (negative).

`positive/CODE/*.json` and `negative/CODE/*.json` hold a `configuration`, the `verdict` it must get, and where it fails.
All go through one `compatcheck check --batch`.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from compatcheck.matrix.load import LoadedMatrix
from compatcheck.matrix.model import rules_of

from ..cli.conftest import documents, environment, lines

HERE = Path(__file__).parent
EXAMPLES = sorted(HERE.glob("*/*/*.json"))

UNREACHABLE = {
    "fi-sparse-mla-sm120-api": "the selector asks the same question first (fi-mla-sparse-sm120-flashinfer)",
    "vllm-flash-attn-sinks": "the selector asks the same question first (selector-has-sink)",
    "vllm-nvfp4-patched-gate": "takes a fork that removed the gate (tests/resolve/test_rules.py does it by an overlay)",
    "fi-nvfp4-head64-long-prefill": "the selector refuses first (fi-nvfp4-head64); a fork may not",
    "selector-use-kv-connector": "no backend of the covered releases refuses a KV connector",
    "selector-imports": "an import rule speaks under its own code",
    "selector-combination": "a joint rule speaks under its own code",
}
"""Codes that no configuration brings out, and why."""


def read(path: Path) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(path.read_text("utf-8"))
    return document


@pytest.fixture(scope="session")
def verdicts(tmp_path_factory: pytest.TempPathFactory) -> dict[Path, dict[str, Any]]:
    """The verdict of every example, all from one process."""
    batch = tmp_path_factory.mktemp("examples") / "batch.jsonl"
    batch.write_text(lines(*(read(path)["configuration"] for path in EXAMPLES)), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "compatcheck", "check", "--batch", str(batch)],
        env=environment(batch.parent),
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
        timeout=300,
    )
    assert (done.returncode, done.stderr) == (1, "")
    return dict(zip(EXAMPLES, documents(done.stdout), strict=True))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: "/".join(path.parts[-3:]))
def test_example(path: Path, verdicts: dict[Path, dict[str, Any]]) -> None:
    expected, answer = read(path), verdicts[path]
    kind, code = path.parts[-3:-1]
    said = {finding["code"] for finding in answer["findings"]}
    assert (code in said) is (kind == "positive"), sorted(said)
    assert answer["verdict"] == expected["verdict"], sorted(said)
    assert answer["fails_at"] == expected.get("fails_at", answer["fails_at"])


def folders(kind: str) -> set[str]:
    return {path.name for path in (HERE / kind).iterdir()}


def test_every_code_has_both() -> None:
    assert folders("positive") == folders("negative")


def test_every_rule_that_a_configuration_can_trigger_has_examples(loaded: LoadedMatrix) -> None:
    rules = loaded.matrix.rules.items()
    engine = loaded.matrix.engines["vllm"]
    explained = {code for code, rule in rules if rule.when.get("engine") == "direct"}
    wanted = {code for code, rule in rules if rule.kind == "attention"} - explained
    wanted |= {check.code for check in engine.selector}
    for backend in engine.backends.values():
        for layer in (backend, *backend.changes):
            wanted |= {rule.code for rule in rules_of(layer)}
    uncovered = wanted - folders("positive")
    for code in sorted(uncovered):
        print(f"not coverable: {code}: {UNREACHABLE.get(code, 'NO REASON GIVEN')}")
    for code in sorted(explained):
        print(f"explain only: {code}")
    assert uncovered == UNREACHABLE.keys()
