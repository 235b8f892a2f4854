"""The hooks file: what pre-commit reads, and which files each hook is run for."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
HOOKS: dict[str, dict[str, Any]] = {
    hook["id"]: hook for hook in yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
}


def test_hooks() -> None:
    assert {"compatcheck-docs", "compatcheck-lint", "compatcheck-regions"} <= set(HOOKS)
    assert {hook["language"] for hook in HOOKS.values()} == {"python"}
    assert not any(hook.get("always_run") for hook in HOOKS.values())
    assert not any("additional_dependencies" in hook for hook in HOOKS.values())


@pytest.mark.parametrize(
    ("hook", "file", "runs"),
    [
        ("compatcheck-docs", "matrix.yaml", True),
        ("compatcheck-docs", "facts/matrix.yaml", True),
        ("compatcheck-docs", "docs/rules/a.md", True),
        ("compatcheck-docs", "docs/evidence/h200.json", True),
        ("compatcheck-docs", "templates/index.md.j2", True),
        ("compatcheck-docs", "site/compatcheck-overlay.yaml", True),
        ("compatcheck-docs", ".github/workflows/compatcheck.yml", False),
        ("compatcheck-docs", "src/model.py", False),
        ("compatcheck-docs", "README.md", False),
        ("compatcheck-lint", "matrix.yaml", True),
        ("compatcheck-lint", "site/compatcheck-overlay.yaml", True),
        ("compatcheck-lint", "compatcheck.yml", True),
        ("compatcheck-lint", "matrix/rules.yaml", True),
        ("compatcheck-lint", "docker-compose.yaml", False),
        ("compatcheck-lint", "ci/matrix.yaml", False),
        ("compatcheck-lint", ".github/workflows/compatcheck.yml", False),
        ("compatcheck-lint", "my-matrix.yaml", False),
        *[
            ("compatcheck-scan", file, True)
            for file in (
                *("deploy/values.yaml", "compose.yml", "Dockerfile", "docker/Dockerfile.gpu", "x.dockerfile", "run.sh"),
                *("job.sbatch", "job.slurm", "vllm.service", "vllm.container", "Makefile", "GNUmakefile", "serve.mk"),
                *("justfile", ".justfile", "serve.just", "README.md", "a/b.py"),
            )
        ],
        ("compatcheck-scan", "notes.txt", False),
        ("compatcheck-scan", "src/main.rs", False),
    ],
)
def test_files(hook: str, file: str, runs: bool) -> None:
    left_out = HOOKS[hook].get("exclude")
    asked = re.search(HOOKS[hook]["files"], file) and not (left_out and re.search(left_out, file))
    assert bool(asked) is runs
