"""The hooks for real: pre-commit installs this project, stops commits that drift, and lets mended ones pass."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
ROW = re.compile(r"\| `FLASHINFER` \| [a-z ?]+ \|")

CONFIG = """\
repos:
  - repo: {project}
    rev: {revision}
    hooks:
      - id: compatcheck-regions
      - id: compatcheck-docs
      - id: compatcheck-lint
"""


def call(*words: str, folder: Path, fine: bool = True) -> subprocess.CompletedProcess[str]:
    environment = {
        **os.environ,
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
        "PRE_COMMIT_COLOR": "never",
    }
    for name in ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "PYTHONPATH"):
        environment.pop(name, None)
    environment["PRE_COMMIT_HOME"] = str(folder.parent / "pre-commit-home")
    run = subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True, timeout=300, check=False)
    if fine:
        assert run.returncode == 0, f"{words}\n{run.stdout}\n{run.stderr}"
    return run


def git(folder: Path, *words: str, fine: bool = True) -> subprocess.CompletedProcess[str]:
    identity = ("-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false")
    return call("git", *identity, *words, folder=folder, fine=fine)


def pre_commit(folder: Path, *words: str, fine: bool = True) -> subprocess.CompletedProcess[str]:
    return call(sys.executable, "-m", "pre_commit", *words, folder=folder, fine=fine)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """This project as it stands, uncommitted changes too, in a repository of its own."""
    if shutil.which("git") is None:
        pytest.skip("git is not installed")
    listed = call("git", "ls-files", "-coz", "--exclude-standard", folder=ROOT).stdout.split("\0")
    copy = tmp_path / "project"
    for name in listed:
        source, target = ROOT / name, copy / name
        if name and source.is_file() and not name.startswith("tests/"):
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, target)
    git(copy, "init", "-q", "-b", "main")
    git(copy, "add", "-A")
    git(copy, "commit", "-q", "-m", "project")
    return copy


def test_a_drifting_commit_is_stopped_and_a_mended_one_passes(project: Path, tmp_path: Path) -> None:
    pytest.importorskip("pre_commit", reason="pre-commit is not installed: pip install 'compatcheck[dev]'")
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    git(scratch, "init", "-q", "-b", "main")
    readme = scratch / "README.md"
    readme.write_text(
        "# Mine\n\n<!-- compatcheck:begin backends sm=9.0 kv=nvfp4 -->\n<!-- compatcheck:end -->\n", "utf-8"
    )
    git(scratch, "add", "-A")

    tried = pre_commit(scratch, "try-repo", str(project), "compatcheck-regions", "--all-files", fine=False)
    assert tried.returncode == 1, tried.stdout + tried.stderr
    assert "README.md: regions filled" in tried.stdout
    assert ROW.search(readme.read_text("utf-8"))
    assert git(scratch, "diff", "--stat").stdout.strip()

    revision = git(project, "rev-parse", "HEAD").stdout.strip()
    (scratch / ".pre-commit-config.yaml").write_text(CONFIG.format(project=project, revision=revision), "utf-8")
    git(scratch, "add", "-A")
    pre_commit(scratch, "install", "--install-hooks")
    git(scratch, "commit", "-q", "-m", "filled")

    readme.write_text(ROW.sub("| `FLASHINFER` | surely |", readme.read_text("utf-8")), "utf-8")
    git(scratch, "add", "-A")
    stopped = git(scratch, "commit", "-m", "drift", fine=False)
    said = stopped.stdout + stopped.stderr
    assert stopped.returncode != 0
    assert "README.md: regions filled" in said
    assert "files were modified by this hook" in said
    git(scratch, "add", "-A")
    assert git(scratch, "diff", "--cached", "--stat").stdout.strip() == ""

    shutil.copy(ROOT / "tests" / "docs" / "data" / "small.yaml", scratch / "matrix.yaml")
    git(scratch, "add", "-A")
    undocumented = git(scratch, "commit", "-m", "facts without their pages", fine=False)
    said = undocumented.stdout + undocumented.stderr
    assert undocumented.returncode != 0
    assert "docs/index.md: missing, now mended" in said
    git(scratch, "add", "-A")
    passed = git(scratch, "commit", "-m", "facts and pages", fine=False)
    assert passed.returncode == 0, passed.stdout + passed.stderr
    assert git(scratch, "status", "--porcelain").stdout == ""
