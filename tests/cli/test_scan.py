"""compatcheck scan, as pre-commit and CI start it."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest
import yaml

from tests.cli.conftest import ROOT, Cli

BAD = "vllm serve Qwen/Qwen3-8B --kv-cache-dtype nvfp4 --attention-backend FLASH_ATTN\n"
GOOD = "vllm serve Qwen/Qwen3-8B --kv-cache-dtype fp8\n"
HERE = {"HF_HOME": "/nonexistent", "HF_HUB_CACHE": "/nonexistent"}


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    (tmp_path / "deploy").mkdir()
    (tmp_path / "deploy" / "bad.sh").write_text("#!/bin/sh\n" + BAD, "utf-8")
    (tmp_path / "deploy" / "good.sh").write_text(GOOD, "utf-8")
    (tmp_path / "node_modules").mkdir()
    (tmp_path / "node_modules" / "bad.sh").write_text(BAD, "utf-8")
    return tmp_path


def test_text(cli: Cli, tree: Path) -> None:
    done = cli("scan", ".", "--sm", "9.0", **HERE)
    assert done.returncode == 1
    first = done.stdout.splitlines()[0]
    assert first.startswith("deploy/bad.sh:2:26: error[selector-kv-cache-dtype] ")
    assert done.stderr == "2 launches in 2 files: 1 unsupported, 1 supported\n"


def test_named_files_and_exclusions(cli: Cli, tree: Path) -> None:
    assert cli("scan", "deploy/good.sh", "--sm", "9.0", **HERE).returncode == 0
    assert cli("scan", "deploy", "--exclude", "deploy/bad*", "--sm", "9.0", **HERE).returncode == 0


def test_json(cli: Cli, tree: Path) -> None:
    document = json.loads(cli("scan", "deploy", "--sm", "H200", "--format", "json", **HERE).stdout)
    assert (document["schema"], document["document"]) == (1, "compatcheck-scan")
    assert [(launch["file"], launch["verdict"]) for launch in document["launches"]] == [
        ("deploy/bad.sh", "unsupported"),
        ("deploy/good.sh", "supported"),
    ]
    (diagnostic,) = document["diagnostics"]
    assert (diagnostic["file"], diagnostic["line"], diagnostic["column"]) == ("deploy/bad.sh", 2, 26)


def test_sarif_and_github(cli: Cli, tree: Path) -> None:
    log = json.loads(cli("scan", "deploy", "--sm", "9.0", "--format", "sarif", **HERE).stdout)
    region = log["runs"][0]["results"][0]["locations"][0]["physicalLocation"]["region"]
    jsonschema.validate(region, {"required": ["startLine", "startColumn"]})
    assert (region["startLine"], region["startColumn"]) == (2, 26)
    done = cli("scan", "deploy", "--sm", "9.0", "--format", "github", **HERE)
    assert done.stdout.startswith("::error file=deploy/bad.sh,line=2,col=26,title=selector-kv-cache-dtype::")


def test_every_gpu_where_none_is_known(cli: Cli, tree: Path) -> None:
    (tree / "deploy" / "some.sh").write_text("vllm serve Qwen/Qwen3-8B --kv-cache-dtype nvfp4\n", "utf-8")
    done = cli("scan", "deploy", **HERE)
    assert done.returncode == 1
    assert "some.sh" not in done.stdout


def test_unreadable_input_is_exit_code_2(cli: Cli, tree: Path) -> None:
    (tree / "compose.yaml").write_text("services:\n  vllm: [\n", "utf-8")
    (tree / "latin.md").write_bytes(b"vllm \xe9\n")
    done = cli("scan", ".", "missing", "--sm", "9.0", **HERE)
    assert done.returncode == 2
    for place in ("compose.yaml:3:1: ", "latin.md:1:1: not UTF-8", "missing: no such file"):
        assert place in done.stderr
    assert "deploy/bad.sh:2:26" in done.stdout


def test_a_gpu_that_does_not_exist(cli: Cli, tree: Path) -> None:
    done = cli("scan", ".", "--sm", "9.7", **HERE)
    assert done.returncode == 2
    assert "--sm" in done.stderr


def test_strict_reports_what_is_unknown(cli: Cli, tree: Path) -> None:
    text = "vllm serve some/model --attention-backend FLASHINFER --kv-cache-dtype nvfp4\n"
    (tree / "unknown.sh").write_text(text, "utf-8")
    arguments = ("scan", "unknown.sh", "--sm", "10.0", "--vllm", "0.33.0")
    assert cli(*arguments, **HERE).returncode == 0
    done = cli(*arguments, "--strict", **HERE)
    assert done.returncode == 3
    assert "warning[unknown]" in done.stdout


def test_the_hook_is_there() -> None:
    hooks = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text("utf-8"))
    hook = next(hook for hook in hooks if hook["id"] == "compatcheck-scan")
    assert hook["entry"] == "compatcheck scan"
    assert hook.get("pass_filenames", True)
