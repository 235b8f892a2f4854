"""`compatcheck audit` over small releases: no drift, and every planted change found."""

# ruff: noqa: E501 - the texts of planted changes and of the matrix are lines of their own files

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from compatcheck.cli.audit import audit
from tests.audit.release import ENGINE, LIBRARY, matrix, nothing_acknowledged, wheel

BACKENDS = "vllm/v1/attention/backends/"
GATED = f"{BACKENDS}gated.py"


def run(folder: Path, *arguments: str, engine: Any = None, library: Any = None) -> tuple[int, dict[str, Any]]:
    """Return the exit code and the JSON of an audit of the two small wheels, changed as given."""
    wheels = [
        "--wheel",
        str(wheel(folder, ENGINE, changed=engine)),
        "--wheel",
        str(wheel(folder, LIBRARY, changed=library)),
    ]
    done = CliRunner().invoke(audit, [*wheels, *shared(folder), "--format", "json", *arguments])
    assert done.exit_code in (0, 1, 2, 3), done.output
    return done.exit_code, json.loads(done.stdout) if done.stdout.startswith("{") else {"error": done.stderr}


def shared(folder: Path) -> list[str]:
    """The options that both wheels' audits take: the small matrix, nothing acknowledged, no evidence."""
    (folder / "none").mkdir(exist_ok=True)
    return [
        "--matrix",
        str(matrix(folder)),
        "--acknowledged",
        str(nothing_acknowledged(folder)),
        "--evidence",
        str(folder / "none"),
    ]


def told(document: Mapping[str, Any]) -> list[tuple[str, ...]]:
    return [
        tuple(str(d.get(key, "")) for key in ("kind", "subject", "aspect", "where", "matrix", "library"))
        for d in document.get("differences", ())
    ]


def unknown(document: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    return [
        (g["subject"], g["aspect"], g["expression"]) for g in document.get("not_understood", ()) if not g.get("known")
    ]


def test_the_same_release_has_no_drift(tmp_path: Path) -> None:
    code, document = run(tmp_path)
    assert told(document) == []
    assert unknown(document) == []
    assert (code, document["vllm"], document["flashinfer"]) == (0, "0.3.0", "0.6.15")
    assert document["compared"] > 200


PLANTED: dict[str, tuple[dict[str, Any], list[tuple[str, ...]]]] = {
    "a new KV-cache dtype in a backend": (
        {"engine": {f"{BACKENDS}plain.py": ("    @staticmethod", '    supported_kv_cache_dtypes = ["auto", "fp8"]\n\n    @staticmethod')}},
        [("gate", "PLAIN", "kv_cache_dtype", "kv_cache_dtype fp8", "refuses", "accepts")],
    ),
    "a removed symbol": (
        {"library": {"flashinfer/page.py": ("def append(", "def append_paged("), "flashinfer/__init__.py": ("append as append", "append_paged")}},
        [("symbol", "flashinfer.append", "flashinfer.page:append", "", "has it", "does not have it (ImportError: cannot import name 'append' from 'flashinfer.page')")],
    ),
    "a new backend in the registry": (
        {"engine": {f"{BACKENDS}registry.py": ("    CUSTOM = None", f'    FRESH = "{BACKENDS.replace("/", ".")}plain.PlainBackend"\n    CUSTOM = None')}},
        [("new-backend", "FRESH", "", "", "does not have it", "vllm.v1.attention.backends.plain.PlainBackend")],
    ),
    "a changed pin": (
        {"engine": {"vllm-0.3.0.dist-info/METADATA": ("flashinfer-python==0.6.15", "flashinfer-python==0.6.16")}},
        [("pin", "0.3.0", "flashinfer", "", "0.6.15", "==0.6.16")],
    ),
    "a new clause in a gate": (
        {"engine": {GATED: ("        return None", '        if head_size == 96 and has_sink:\n            return "no sinks at 96"\n        return None')}},
        [("gate", "GATED", "joint_rules", "head_size 96; has_sink true", "accepts", "refuses: no sinks at 96")],
    ),
    "a dtype added to the vocabulary": (
        {"engine": {"vllm/config/cache.py": ('"nvfp4"', '"nvfp4", "int2"')}},
        [("vocabulary", "kv_cache_dtypes", "", "", "lacks them", "adds int2")],
    ),
    "another compute capability": (
        {"engine": {GATED: ("(9, 12)", "(8, 9, 12)")}},
        [("gate", "GATED", "sm", "sm 8.0", "refuses", "accepts")],
    ),
    "other words": (
        {"engine": {GATED: ("at head_size", "for head size")}},
        [],
    ),
    "another order": (
        {"engine": {"vllm/platforms/cuda.py": ("major == 12", "major in (9, 12)")}},
        [("order", "backends", "", "sm 9.0", "PLAIN, GATED", "GATED, PLAIN")],
    ),
    "a removed backend": (
        {"engine": {f"{BACKENDS}registry.py": ("    PLAIN = ", "    ROCM_PLAIN = "), "vllm/platforms/cuda.py": (
            ("    if device_capability.major == 12:\n        return [AttentionBackendEnum.GATED, AttentionBackendEnum.PLAIN]\n"
            "    return [AttentionBackendEnum.PLAIN, AttentionBackendEnum.GATED]"), "    return [AttentionBackendEnum.GATED]")}},
        [("removed-backend", "PLAIN", "", "", "has it", "does not have it")],
    ),
    "a capability of a kernel": (
        {"library": {"flashinfer/prefill.py": ("[90, 120]", "[80, 90]")}},
        [("capability", "flashinfer.run", "", "sm 8.0", "the library refuses it", "accepts it"),
         ("capability", "flashinfer.run", "", "sm 12.0", "runs", "refuses it")],
    ),
    "an import that was lazy": (
        {"engine": {f"{BACKENDS}plain.py": ("from vllm.v1.attention.backend import", "from flashinfer import run\nfrom vllm.v1.attention.backend import")}},
        [("gate", "PLAIN", "import", "has_flashinfer false", "imports", f"imports FlashInfer in {BACKENDS}plain.py:2")],
    ),
    "a class that is gone": (
        {"engine": {f"{BACKENDS}registry.py": ("plain.PlainBackend", "nowhere.PlainBackend")}},
        [("gate", "PLAIN", "import", "", "imports", "import: ModuleNotFoundError: No module named 'vllm.v1.attention.backends.nowhere'")],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_change_is_found(tmp_path: Path, name: str) -> None:
    changes, expected = PLANTED[name]
    code, document = run(tmp_path, **changes)
    found = told(document)
    assert code == 1
    if name == "other words":
        assert {row[:3] for row in found} == {("gate", "GATED", "joint_rules")}
        assert all("for head size" in row[5] and "at head_size" in row[4] for row in found)
    else:
        assert [row for row in found if row[0] != "order" or name == "another order"] == expected


NOT_UNDERSTOOD: dict[str, tuple[dict[str, Any], tuple[str, str, str]]] = {
    "a helper from outside": (
        {GATED: ("            return False", "            return outside.asks()")},
        ("GATED", "has_sink", "outside"),
    ),
    "a clause over an unknown configuration field": (
        {GATED: ("        return None", ('        from vllm.config import get_current_vllm_config\n\n        if get_current_vllm_config().cache_config.strange:\n'
                 '            return "strange"\n        return None'))},
        ("GATED", "joint_rules", "cache_config.strange"),
    ),
    "a new gate of a class": (
        {GATED: ("    @classmethod\n    def supports_sink", "    @classmethod\n    def supports_novelty(cls):\n        return True\n\n    @classmethod\n    def supports_sink")},
        ("GATED", "", "GatedBackend.supports_novelty"),
    ),
    "the selector's question overridden": (
        {GATED: ("    @classmethod\n    def supports_sink", "    @classmethod\n    def validate_configuration(cls, **given):\n        return []\n\n    @classmethod\n    def supports_sink")},
        ("GATED", "", "GatedBackend.validate_configuration"),
    ),
    "a clause of the selector": (
        {"vllm/v1/attention/backend.py": ("        return invalid_reasons", '        if use_sparse and head_size > 64:\n            invalid_reasons.append("too wide")\n        return invalid_reasons')},
        ("selector", "", "if use_sparse and head_size > 64: invalid_reasons.append('too wide')"),
    ),
    "a known clause with another condition": (
        {"vllm/v1/attention/backend.py": ("if has_sink and not cls.supports_sink()", "if has_sink and head_size > 64 and not cls.supports_sink()")},
        ("selector", "", "if has_sink and head_size > 64 and (not cls.supports_sink()): invalid_reasons.append('attention sinks not supported')"),
    ),
    "an unknown decorator": (
        {GATED: ("    @classmethod\n    def supports_sink", "    @registered\n    @classmethod\n    def supports_sink")},
        ("GATED", "has_sink", ""),
    ),
    "a method replaced from outside the class": (
        {GATED: ("class GatedBackend", "def other(cls):\n    return outside()\n\n\nclass GatedBackend"),
         "vllm/v1/attention/backends/registry.py": ("gated.GatedBackend", "patched.GatedBackend"),
         "vllm/v1/attention/backends/patched.py": ("", "from vllm.v1.attention.backends.gated import GatedBackend\n\nGatedBackend.supports_sink = outside\n")},
        ("GATED", "has_sink", "outside"),
    ),
    "a file that is no Python": (
        {f"{BACKENDS}plain.py": ("class PlainBackend", "class class PlainBackend")},
        ("PLAIN", "", "vllm.v1.attention.backends.plain.PlainBackend"),
    ),
    "an architecture that the matrix does not have": (
        {GATED: ("(9, 12)", "(9, 12, 13)")},
        ("GATED", "sm", "sm 13"),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", NOT_UNDERSTOOD)
def test_what_is_not_understood_is_never_silent(tmp_path: Path, name: str) -> None:
    engine, expected = NOT_UNDERSTOOD[name]
    code, document = run(tmp_path, engine=engine)
    found = unknown(document)
    assert any(g[:2] == expected[:2] and expected[2] in g[2] for g in found), (found, told(document))
    assert code in (1, 3)
    place = next(g["place"] for g in document["not_understood"] if (g["subject"], g["aspect"]) == expected[:2])
    assert place.partition(":")[0].endswith(".py")


def test_text_has_three_columns_and_the_places(tmp_path: Path) -> None:
    changes: dict[str, Any] = PLANTED["another compute capability"][0]["engine"]
    wheels = ["--wheel", str(wheel(tmp_path, ENGINE, changed=changes))]
    done = CliRunner().invoke(audit, [*wheels, *shared(tmp_path)])
    assert done.exit_code == 1, done.output
    assert "vLLM 0.3.0: 1 differences in " in done.stdout
    assert all(name in done.stdout for name in ("matrix", "library", "evidence from GPUs", "where sm 8.0", f"{GATED}:"))


def test_check_does_not_import_it() -> None:
    code = (
        "import sys; from compatcheck.cli.fast_check import run; run(['--sm', '9.0', '--vllm', '0.33.0', '--head-size', '128']); "
        "sys.exit(any(name.startswith('compatcheck.audit') for name in sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, check=False).returncode == 0
