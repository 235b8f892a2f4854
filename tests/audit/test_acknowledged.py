"""Known gates are counted and quiet; a clause more, and they come up again. FlashInfer's parameters are compared by release."""

# ruff: noqa: E501 - texts of planted changes

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from compatcheck.audit import acknowledged
from compatcheck.cli.audit import audit
from tests.audit.release import ENGINE, LIBRARY, guards, matrix, wheel

GATED = "vllm/v1/attention/backends/gated.py"
KNOWN = {GATED: ("            return False", "            return outside.asks()")}


def run(
    folder: Path, document: dict[str, Any], files: dict[str, str], changed: dict[str, tuple[str, str]]
) -> tuple[int, dict[str, Any]]:
    (folder / "none").mkdir(exist_ok=True)
    file = folder / "acknowledged.json"
    file.write_text(json.dumps({"schema": 1, "gates": [], **document}), encoding="utf-8")
    (folder / "guards.json").write_text(guards(), encoding="utf-8")
    options = [
        "--wheel",
        str(wheel(folder, files, changed=changed)),
        "--matrix",
        str(matrix(folder)),
        "--acknowledged",
        str(file),
    ]
    done = CliRunner().invoke(audit, [*options, "--evidence", str(folder / "none"), "--format", "json"])
    return done.exit_code, json.loads(done.stdout)


def test_a_known_gate_is_quiet_and_a_changed_one_is_not(tmp_path: Path) -> None:
    code, first = run(tmp_path, {}, dict(ENGINE), KNOWN)
    (gate,) = first["not_understood"]
    assert (code, gate["subject"], gate["aspect"]) == (3, "GATED", "has_sink")
    entry = {"gate": "GATED.has_sink", "digests": {gate["digest"]: ["0.3.0"]}, "covered_by": "a rule"}
    code, second = run(tmp_path, {"gates": [entry]}, dict(ENGINE), KNOWN)
    assert code == 0
    assert [g["known"] for g in second["not_understood"]] == ["a rule"]
    more = {GATED: ("            return False", "            return outside.asks() and outside.asks_more()")}
    code, third = run(tmp_path, {"gates": [entry]}, dict(ENGINE), more)
    assert code == 3
    assert [g.get("known") for g in third["not_understood"]] == [None]


def test_parameters_requirements_and_extras(tmp_path: Path) -> None:
    said = {
        "recorded": ["0.6.12"],
        "parameters": {"flashinfer.page:append": {"0.6.12": ["append(key, value)"]}},
        "wheels": {"0.6.12": ["extra cu12", "requires torch"]},
    }
    code, document = run(tmp_path, said, dict(LIBRARY), {})
    told = [(d["kind"], d["subject"], d["matrix"], d["library"]) for d in document["differences"]]
    assert code == 1
    assert told == [
        ("pin", "FlashInfer 0.6.15", "an earlier release does not have it", "extra cu13"),
        ("pin", "FlashInfer 0.6.15", "an earlier release has extra cu12", "does not have it"),
        ("parameters", "flashinfer.page:append", "as before", "append: scale="),
    ]
    assert [(g["subject"], g["aspect"]) for g in document["not_understood"]] == [
        ("flashinfer.prefill:run", "requirement")
    ]


def test_a_release_between_two_that_were_looked_at_is_not_compared() -> None:
    known = acknowledged.Acknowledged(schema=1, gates=[], recorded=["0.6.12", "0.7.0"])
    table = {"0.6.12": 1, "0.7.0": 2}
    assert [acknowledged.at(known, table, v) for v in ("0.6.12", "0.6.15", "0.7.0", "0.8.0", "0.6.6")] == [
        1,
        None,
        2,
        2,
        None,
    ]


def test_the_packaged_file_names_entries_of_the_matrix() -> None:
    from compatcheck.matrix.load import load

    matrix_ = load().matrix
    engine = matrix_.engines["vllm"]
    known = {*matrix_.rules, *engine.backends, *matrix_.kernels}
    known |= {rule.code for backend in engine.backends.values() for rule in backend.joint_rules or []}
    assert engine.linear is not None
    known |= {gate.code for kernel in engine.linear.kernels.values() for gate in kernel.gates}
    packaged = acknowledged.load()
    assert packaged.gates
    for entry in packaged.gates:
        assert entry.digests, entry.gate
        assert set(entry.covered_by.split(", ")) <= known, entry.gate


def test_a_file_that_cannot_be_used(tmp_path: Path) -> None:
    file = tmp_path / "acknowledged.json"
    file.write_text('{"schema": 1', encoding="utf-8")
    with pytest.raises(ValueError, match="no file of acknowledged gates"):
        acknowledged.load(file)
