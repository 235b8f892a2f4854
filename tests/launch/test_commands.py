"""Launch commands of public recipes and documentation: parsed without loss, each with the facts it states."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from compatcheck.launch.command_line import launches_in_script
from compatcheck.launch.facts import read_launch
from compatcheck.launch.judge import judge_launch
from compatcheck.matrix.load import LoadedMatrix
from compatcheck.resolve.configuration import Configuration

COMMANDS: list[dict[str, Any]] = [
    json.loads(line) for line in (Path(__file__).parents[1] / "data" / "commands.jsonl").read_text("utf-8").splitlines()
]


@pytest.fixture(autouse=True)
def no_model_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HF_HOME", "/nonexistent")


def test_there_are_sixty() -> None:
    assert len(COMMANDS) >= 60
    assert all(command["url"].startswith("https://") for command in COMMANDS)


@pytest.mark.parametrize("command", COMMANDS, ids=lambda c: c["command"][:60].replace("\n", " "))
def test_parsed_without_loss(command: dict[str, Any], loaded: LoadedMatrix) -> None:
    expected = dict(command["facts"])
    launches = launches_in_script(command["command"])
    if expected.pop("none", False):
        assert not launches
        return
    (launch,) = launches
    facts = read_launch(loaded.matrix, launch, Configuration(sm="9.0"))
    names = Counter(report.name for report in facts.reports)
    for word in launch.words:
        if word.text.startswith("-") and not word.text.lstrip("-")[:1].isdigit():
            name = word.text.split("=", 1)[0]
            spellings = {name, name.replace("_", "-"), name.split(".")[0], "--optimization-level"}
            dotted = {"-cc": "--compilation-config", "-ac": "--attention-config"}.get(name.split(".")[0])
            assert spellings & names.keys() or dotted in names, name
    for name in launch.environment:
        assert name in names
    unknown = {report.name for report in facts.reports if report.status == "unknown"}
    assert unknown == set(expected.pop("unknown", []))
    if "model" in expected:
        assert facts.model == expected.pop("model")
    values = {name: getattr(facts.configuration, name) for name in expected if name != "head_size"}
    expected_size = expected.pop("head_size", None)
    own = facts.layers[0].facts
    assert {n: own.get(n, v) for n, v in values.items()} == expected
    sizes = {layer.facts.get("head_size", facts.configuration.head_size) for layer in facts.layers}
    assert expected_size is None or expected_size in sizes


@pytest.mark.parametrize("sm", ["8.0", "9.0", "10.0", "12.1"])
def test_every_command_has_a_verdict(sm: str, loaded: LoadedMatrix) -> None:
    seen: Counter[str] = Counter()
    for command in COMMANDS:
        for launch in launches_in_script(command["command"]):
            facts = read_launch(loaded.matrix, launch, Configuration(sm=sm))
            seen[judge_launch(loaded, facts).lead.verdict] += 1
    print(f"\n{sm}: {dict(seen)}")
    assert sum(seen.values()) >= 60
    assert seen["supported"] > 10
