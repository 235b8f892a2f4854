"""What shells, YAML and documentation make of a command, through `check` and `scan` as users start them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Cli

HERE = {"HF_HOME": "/nonexistent", "HF_HUB_CACHE": "/nonexistent"}
AT = ("--no-host", "--sm", "9.0", "--vllm", "0.33.0")
RUN = 'vllm serve Qwen/Qwen3-8B "${ARGS[@]}"'
BAD = "--kv-cache-dtype nvfp4 --attention-backend FLASH_ATTN"


def scan(cli: Cli, path: Path, text: str, *more: str) -> list[tuple[int, int, str]]:
    """Return (line, column, code) of what is found in a file with this text."""
    path.write_text(text, "utf-8")
    done = cli("scan", path.name, "--sm", "9.0", "--vllm", "0.33.0", "--format", "json", *more, **HERE)
    return [(d["line"], d["column"], d["code"]) for d in json.loads(done.stdout)["diagnostics"]]


@pytest.mark.parametrize(
    "script",
    [
        f"ARGS=({BAD})\nvllm serve Qwen/Qwen3-8B ${{ARGS[@]}}",
        'ARGS=(\n  --kv-cache-dtype nvfp4 # so\n)\nARGS+=(--attention-backend "FLASH_ATTN")\n' + RUN,
        f'declare -a ARGS=(Qwen/Qwen3-8B {BAD})\nexec vllm serve "${{ARGS[@]}}"',
        f'CMD=(vllm serve Qwen/Qwen3-8B {BAD})\n"${{CMD[@]}}"',
        f'A=({BAD})\nB=()\nvllm serve Qwen/Qwen3-8B "${{B[@]}}" "${{A[@]+"${{A[@]}}"}}"',
        f'ARGS="{BAD.split(" --")[0]}"\nARGS+=" --{BAD.split(" --")[1]}"\nvllm serve Qwen/Qwen3-8B $ARGS',
    ],
)
def test_arrays_are_read(cli: Cli, script: str) -> None:
    done = cli("check", *AT, "--no-alternatives", "--format", "json", "--", script, **HERE)
    document = json.loads(done.stdout)
    assert done.returncode == 1
    assert "selector-kv-cache-dtype" in {f["code"] for f in document["findings"]}
    assert not document["missing"]


def test_a_finding_about_an_element_of_an_array_is_at_the_element(cli: Cli, tmp_path: Path) -> None:
    text = f"ARGS=(\n  --max-model-len 8192\n  --kv-cache-dtype nvfp4\n  --attention-backend FLASH_ATTN\n)\n{RUN}\n"
    assert scan(cli, tmp_path / "a.sh", text) == [(3, 3, "selector-kv-cache-dtype")]


@pytest.mark.parametrize(
    "script",
    [
        'ARGS=(--port 1)\nif [ "$X" ]; then\n  ARGS+=(--kv-cache-dtype nvfp4)\nfi\n' + RUN,
        'ARGS=()\n[ -n "$X" ] && ARGS+=(--kv-cache-dtype nvfp4)\n' + RUN,
        'K=auto\n[ -n "$X" ] && K=nvfp4\nvllm serve Qwen/Qwen3-8B --kv-cache-dtype $K',
        'if [ "$X" ]; then K=fp8; fi\nvllm serve Qwen/Qwen3-8B --kv-cache-dtype $K',
        'vllm serve Qwen/Qwen3-8B "${EXTRA[@]}"',
        "vllm serve Qwen/Qwen3-8B --kv-cache-dtype [fp8|auto]",
        "vllm serve Qwen/Qwen3-8B [--kv-cache-dtype DTYPE]",
        "vllm serve Qwen/Qwen3-8B ...",
        "vllm serve Qwen/Qwen3-8B --kv-cache-dtype 'fp8",
    ],
)
def test_what_only_the_shell_or_the_reader_knows_is_unknown(cli: Cli, script: str) -> None:
    done = cli("check", *AT, "--format", "json", "--", script, **HERE)
    document = json.loads(done.stdout)
    assert (done.returncode, document["verdict"]) == (3, "unknown")
    assert document["missing"]


def test_an_unclosed_quote_says_why(cli: Cli) -> None:
    done = cli("check", *AT, "--", "vllm serve Qwen/Qwen3-8B --kv-cache-dtype 'fp8", **HERE)
    assert "the quote is not closed" in done.stdout


def test_a_branch_that_always_runs_is_known(cli: Cli) -> None:
    script = "cd /srv && export K=fp8\nvllm serve Qwen/Qwen3-8B --kv-cache-dtype $K"
    assert cli("check", *AT, "--", script, **HERE).returncode == 0


COMPOSE = """services:
  vllm:
    image: vllm/vllm-openai:v0.33.0
    command: >{chomp}
      Qwen/Qwen3-8B
      --max-model-len 8192

      --kv-cache-dtype nvfp4
      --attention-backend FLASH_ATTN
"""


@pytest.mark.parametrize("chomp", ["", "-", "+"])
def test_folded_text_keeps_its_places(cli: Cli, tmp_path: Path, chomp: str) -> None:
    text = COMPOSE.format(chomp=chomp).replace("\n\n", "\n")
    assert scan(cli, tmp_path / "compose.yaml", text) == [(7, 7, "selector-kv-cache-dtype")]


def test_a_suppression_above_folded_text_reaches_it(cli: Cli, tmp_path: Path) -> None:
    comment = "    # compatcheck: ignore[selector-kv-cache-dtype] patched\n    command"
    text = COMPOSE.format(chomp="-").replace("\n\n", "\n").replace("    command", comment)
    assert scan(cli, tmp_path / "compose.yaml", text) == []


def test_a_script_in_folded_and_plain_text_of_a_manifest(cli: Cli, tmp_path: Path) -> None:
    text = """apiVersion: v1
kind: Pod
spec:
  containers:
    - name: vllm
      image: vllm/vllm-openai:v0.33.0
      command: [/bin/sh, -c]
      args:
        - >-
          exec vllm serve Qwen/Qwen3-8B
          --kv-cache-dtype nvfp4
          --attention-backend FLASH_ATTN
"""
    assert scan(cli, tmp_path / "pod.yaml", text) == [(11, 11, "selector-kv-cache-dtype")]
    plain = text.replace("        - >-\n          exec", "        - exec")
    assert scan(cli, tmp_path / "pod.yaml", plain) == [(10, 11, "selector-kv-cache-dtype")]
    quoted = plain.replace("- exec", '- "exec').replace("FLASH_ATTN\n", 'FLASH_ATTN"\n')
    assert scan(cli, tmp_path / "pod.yaml", quoted) == [(10, 11, "selector-kv-cache-dtype")]


def test_a_suppression_does_not_reach_across_a_blank_line(cli: Cli, tmp_path: Path) -> None:
    text = f"# compatcheck: ignore[selector-kv-cache-dtype] patched\n\nvllm serve Qwen/Qwen3-8B {BAD}\n"
    codes = {code for _, _, code in scan(cli, tmp_path / "a.sh", text)}
    assert codes == {"selector-kv-cache-dtype", "unused-suppression"}
    assert scan(cli, tmp_path / "a.sh", text.replace("\n\n", "\n# and more\n")) == []
