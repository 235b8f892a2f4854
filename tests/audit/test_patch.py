"""The patch: it applies with git, the result passes lint and then has no drift, or it says what a person must write."""

# ruff: noqa: E501 - texts of planted changes

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from compatcheck.cli.audit import audit
from compatcheck.matrix.lint import lint_files
from tests.audit.release import ENGINE, LIBRARY, matrix, nothing_acknowledged, wheel

BACKENDS = "vllm/v1/attention/backends/"
GATED = f"{BACKENDS}gated.py"
METADATA = "vllm-0.3.0.dist-info/METADATA"


def invoke(folder: Path, matrix_file: Path, engine: dict[str, Any], library: dict[str, Any], *more: str) -> Any:
    (folder / "none").mkdir(exist_ok=True)
    wheels = [
        "--wheel",
        str(wheel(folder, ENGINE, changed=engine)),
        "--wheel",
        str(wheel(folder, LIBRARY, changed=library)),
    ]
    shared = [
        "--matrix",
        str(matrix_file),
        "--acknowledged",
        str(nothing_acknowledged(folder)),
        "--evidence",
        str(folder / "none"),
    ]
    return CliRunner().invoke(audit, [*wheels, *shared, *more])


def applied(folder: Path, engine: dict[str, Any], library: dict[str, Any] | None = None) -> tuple[Any, Path, str]:
    """Return the audit after the patch was applied, the matrix, and the patch."""
    repository = folder / "repository"
    repository.mkdir()
    file = matrix(repository)
    subprocess.run(["git", "init", "-q", str(repository)], check=True)
    patch = folder / "drift.patch"
    first = invoke(folder, file, engine, library or {}, "--patch", str(patch))
    assert first.exit_code == 1, first.output
    done = subprocess.run(
        ["git", "-C", str(repository), "apply", str(patch)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr + patch.read_text("utf-8")
    return invoke(folder, file, engine, library or {}), file, patch.read_text("utf-8")


PLAIN: dict[str, tuple[dict[str, Any], dict[str, Any], str]] = {
    "a dtype": (
        {f"{BACKENDS}plain.py": ("    @staticmethod", '    supported_kv_cache_dtypes = ["auto", "fp8"]\n\n    @staticmethod')}, {},
        '+          - {since: "0.3.0", kv_cache_dtypes: [{values: [auto, fp8]}]}',
    ),
    "a dtype by SM": (
        {GATED: ("is_device_capability_family(120)", "is_device_capability_family(90)")}, {},
        "kv_cache_dtypes: [{values: [auto, fp8]}, {values: [nvfp4], when: {sm: ['9.0']}}]",
    ),
    "SMs": ({GATED: ("(9, 12)", "(8, 9, 12)")}, {}, "sms: true"),
    "a pin": (
        {METADATA: ("flashinfer-python==0.6.15", "flashinfer-python==0.6.12")}, {},
        '+      "0.3.0": {flashinfer: "0.6.12", torch: "2.11.0"}}',
    ),
    "a symbol that is gone": (
        {}, {"flashinfer/page.py": ("def append(", "def push("), "flashinfer/__init__.py": ("append as append", "push as push")}, '+    until: "0.6.15"'
    ),
    "a vocabulary": (
        {"vllm/config/cache.py": ('"nvfp4"', '"nvfp4", "int2"')}, {},
        '+  int2: {title: "new in 0.3.0, to be described"}',
    ),
    "a backend that is gone": (
        {f"{BACKENDS}registry.py": ("    GATED = ", "    ROCM_GATED = "), "vllm/platforms/cuda.py": (
            ("    if device_capability.major == 12:\n        return [AttentionBackendEnum.GATED, AttentionBackendEnum.PLAIN]\n"
            "    return [AttentionBackendEnum.PLAIN, AttentionBackendEnum.GATED]"), "    return [AttentionBackendEnum.PLAIN]")}, {},
        '+        until: "0.3.0"',
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", PLAIN)
def test_what_is_plain_is_said_and_the_drift_is_gone(tmp_path: Path, name: str) -> None:
    engine, library, line = PLAIN[name]
    again, file, patch = applied(tmp_path, engine, library)
    assert line in patch
    assert again.exit_code == 0, again.output + patch
    assert [p for p in lint_files([file]) if p.severity == "error"] == []


def test_a_new_release_gets_its_pins_and_keeps_the_rest(tmp_path: Path) -> None:
    metadata = {METADATA: ("Version: 0.3.0", "Version: 0.4.0")}
    renamed = {name.replace("0.3.0", "0.4.0"): text for name, text in ENGINE.items()}
    renamed["vllm-0.4.0.dist-info/METADATA"] = ENGINE[METADATA].replace(*metadata[METADATA])
    repository = tmp_path / "repository"
    repository.mkdir()
    file = matrix(repository)
    (tmp_path / "none").mkdir()
    options = [
        "--wheel",
        str(wheel(tmp_path, renamed)),
        "--matrix",
        str(file),
        "--acknowledged",
        str(nothing_acknowledged(tmp_path)),
    ]
    options += ["--evidence", str(tmp_path / "none")]
    first = CliRunner().invoke(audit, [*options, "--format", "patch"])
    assert first.exit_code == 1
    assert '+      "0.4.0": {flashinfer: "0.6.15", torch: "2.11.0"}}' in first.stdout
    subprocess.run(["git", "init", "-q", str(repository)], check=True)
    subprocess.run(["git", "-C", str(repository), "apply"], input=first.stdout.encode(), check=True)
    assert CliRunner().invoke(audit, options).exit_code == 0


def test_what_needs_a_person_is_named_above_the_diff(tmp_path: Path) -> None:
    engine = {
        f"{BACKENDS}registry.py": (
            "    CUSTOM = None",
            f'    FRESH = "{BACKENDS.replace("/", ".")}plain.PlainBackend"\n    CUSTOM = None',
        ),
        GATED: ("at head_size", "for head size"),
    }
    again, file, patch = applied(tmp_path, engine)
    assert "# needs a person: gate GATED joint_rules: " in patch
    assert "+      # FRESH:" in patch
    assert "+      #   block_size: [null, 16, 32" in patch
    assert "# compatcheck lint finds no problem in the result" in patch
    assert lint_files([file]) == []
    assert again.exit_code == 1


def test_a_patch_that_cannot_be_written(tmp_path: Path) -> None:
    engine = PLAIN["SMs"][0]
    done = invoke(tmp_path, matrix(tmp_path), engine, {}, "--patch", str(tmp_path / "nowhere" / "drift.patch"))
    assert done.exit_code == 4
    assert "cannot be written" in done.stderr
