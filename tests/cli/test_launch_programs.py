"""What runs a launch for somebody: uv's pinned release, Pyxis, Apptainer, Ray, kubectl, torchrun."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Cli
from tests.cli.test_launch_unknowns import ANY, HERE, ask

SERVE = "vllm serve Qwen/Qwen3-8B --kv-cache-dtype nvfp4 --attention-backend FLASH_ATTN"


@pytest.mark.parametrize(
    ("command", "release"),
    [
        (f"uvx --from vllm==0.18.1 {SERVE}", "0.18.1"),
        (f"uvx --from=vllm==0.18.1 {SERVE}", "0.18.1"),
        (f"uv run --with vllm==0.25.1 {SERVE}", "0.25.1"),
        (f"uvx vllm@0.21.0 {SERVE.removeprefix('vllm ')}", "0.21.0"),
        (f"srun --container-image=vllm/vllm-openai:v0.25.1 {SERVE}", "0.25.1"),
        (f"srun -N1 --container-image docker://vllm/vllm-openai:v0.22.1 {SERVE}", "0.22.1"),
        (f"apptainer exec --nv docker://vllm/vllm-openai:v0.24.0 {SERVE}", "0.24.0"),
    ],
)
def test_check_takes_the_release_from_the_command(cli: Cli, command: str, release: str) -> None:
    for words in (command.split(), [command]):
        document = ask(cli, *ANY, "--", *words)[1]
        told = {a["value"] for a in document["assumed"] if a["field"] == "engine_version"}
        assert told == {release}


@pytest.mark.parametrize(
    "command",
    [
        f"apptainer exec --nv vllm.sif {SERVE}",
        f"singularity exec --nv vllm.sif {SERVE}",
        f"singularity run --nv docker://vllm/vllm-openai:v0.33.0 {SERVE.removeprefix('vllm serve ')}",
        f"enroot start vllm {SERVE}",
        f"ray job submit --address http://head:8265 -- {SERVE}",
        f"kubectl run vllm --image=vllm/vllm-openai:v0.33.0 -- {SERVE.removeprefix('vllm serve ')}",
        f"torchrun --nproc-per-node 1 -m vllm.entrypoints.openai.api_server {SERVE.replace('vllm serve', '--model')}",
    ],
)
def test_scan_finds_launches_of_cluster_programs(cli: Cli, tmp_path: Path, command: str) -> None:
    script = tmp_path / "start.sh"
    script.write_text(command + "\n", "utf-8")
    done = cli("scan", script.name, "--vllm", "0.33.0", "--sm", "9.0", "--format", "json", **HERE)
    (launch,) = json.loads(done.stdout)["launches"]
    assert launch["verdict"] == "unsupported"
