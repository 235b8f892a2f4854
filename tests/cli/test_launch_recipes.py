"""Launches as people write them, in shells, units, manifests and Python, through `scan`: found, and answered."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Cli

HERE = {"HF_HOME": "/nonexistent", "HF_HUB_CACHE": "/nonexistent"}
BAD = "vllm serve Qwen/Qwen3-8B --kv-cache-dtype nvfp4 --attention-backend FLASH_ATTN"
REFUSED = ("unsupported", ["selector-kv-cache-dtype"])


def scan(cli: Cli, path: Path, text: str, *more: str) -> dict[str, Any]:
    path.write_text(text, "utf-8")
    done = cli("scan", path.name, "--vllm", "0.33.0", "--format", "json", *more, **HERE)
    document: dict[str, Any] = json.loads(done.stdout)
    return document


def answer(document: dict[str, Any]) -> tuple[str, list[str]]:
    (launch,) = document["launches"]
    return launch["verdict"], sorted(d["code"] for d in document["diagnostics"])


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        (f"docker exec -it -e A=1 node {BAD}", REFUSED),
        (f"docker compose -f a.yaml run --rm vllm {BAD}", REFUSED),
        (f"kubectl exec -it deploy/vllm -- {BAD}", REFUSED),
        (f"kubectl exec pod -- sh -c '{BAD}'", REFUSED),
        (f"ssh -t host '{BAD}'", REFUSED),
        (f"tmux new-session -d -s v 'source x && {BAD}'", REFUSED),
        (f"screen -dmS v {BAD}", REFUSED),
        (f"nohup {BAD} > v.log 2>&1 &", REFUSED),
        (f"CUDA_VISIBLE_DEVICES=0 nice -n 10 {BAD}", REFUSED),
        (f"uv run --with vllm {BAD}", REFUSED),
        (f"srun --ntasks=1 {BAD} 2>&1 | tee log", REFUSED),
        (f"sudo docker run --name 'my vllm' --entrypoint bash vllm/vllm-openai -c 'pip install x && {BAD}'", REFUSED),
        (f"podman run --device nvidia.com/gpu=all docker.io/vllm/vllm-openai:latest {BAD.split('serve ')[1]}", REFUSED),
        ("vllm serve Qwen/Qwen3-8B --host 0.0.0.0 --port ${PORT:-8000} ${EXTRA_ARGS:-}", ("supported", [])),
        ("vllm bench throughput --model Qwen/Qwen3-8B --input-len 100 --kv-cache-dtype fp8", ("supported", [])),
        (
            'vllm serve Qwen/Qwen3-Next-80B-A3B-Instruct -tp 4 --speculative-config \'{"method": "mtp"}\'',
            ("supported", []),
        ),
        ("vllm serve deepseek-ai/DeepSeek-V3.2-Exp -dp 8 --enable-expert-parallel", ("supported", [])),
        ("vllm serve Qwen/Qwen3-8B --attention_config.backend=FLASHINFER", ("supported", [])),
        ("vllm serve Qwen/Qwen3-8B -O3", ("supported", [])),
        ("vllm serve Qwen/Qwen3-8B -O.cudagraph_mode=PIECEWISE", ("unsupported", ["launch-optimization-level"])),
        ("vllm serve Qwen/Qwen3-14B --swap-space 16", ("unsupported", ["launch-unknown-option"])),
        ("vllm serve org/unknown -tp 2", ("unknown", [])),
        ("vllm serve --config config.yaml", ("unknown", [])),
        ("VLLM_USE_TRTLLM_ATTENTION=1 vllm serve openai/gpt-oss-120b", ("degraded", ["launch-variable-ignored"])),
        ("timeout 60 vllm serve meta-llama/Llama-3.1-405B-Instruct -tp 8 -pp 2", ("supported", [])),
    ],
)
def test_commands(cli: Cli, tmp_path: Path, command: str, expected: tuple[str, list[str]]) -> None:
    assert answer(scan(cli, tmp_path / "run.sh", command + "\n", "--sm", "9.0")) == expected


@pytest.mark.parametrize("command", ["vllm chat --url http://x", "vllm bench serve --model m", "pip install vllm"])
def test_what_launches_nothing(cli: Cli, tmp_path: Path, command: str) -> None:
    assert scan(cli, tmp_path / "run.sh", command + "\n")["launches"] == []


SKY = f"resources: {{accelerators: H100:1}}\nrun: |\n  conda activate x\n  {BAD}\n"
WORKFLOW = f"jobs:\n  t:\n    steps:\n      - run: |\n          {BAD} &\n          curl x\n"
CONFIG_MAP = f"apiVersion: v1\nkind: ConfigMap\ndata:\n  run.sh: |\n    {BAD}\n"
UNIT = "[Service]\nEnvironment=A=1\nExecStart=/opt/bin/" + BAD.replace(" --", " \\\n  --") + "\nRestart=always\n"
KSERVE = """apiVersion: serving.kserve.io/v1beta1
kind: InferenceService
spec:
  predictor:
    nodeSelector: {cloud.google.com/gke-accelerator: nvidia-h100-80gb}
    model:
      modelFormat: {name: vLLM}
      image: vllm/vllm-openai:v0.33.0
      env: [{name: KV, value: nvfp4}]
      args: [--model, Qwen/Qwen3-8B, --kv-cache-dtype, $(KV), --attention-backend=FLASH_ATTN]
"""


@pytest.mark.parametrize(
    ("name", "text", "place"),
    [
        ("sky.yaml", SKY, (4, 28)),
        ("ci.yml", WORKFLOW, (5, 36)),
        ("map.yaml", CONFIG_MAP, (5, 30)),
        ("v.service", UNIT, (4, 3)),
        ("kserve.yaml", KSERVE, (10, 38)),
    ],
)
def test_files(cli: Cli, tmp_path: Path, name: str, text: str, place: tuple[int, int]) -> None:
    document = scan(cli, tmp_path / name, text, "--sm", "9.0")
    assert answer(document) == REFUSED
    assert [(d["line"], d["column"]) for d in document["diagnostics"]] == [place]


def test_a_unit_takes_variables_from_its_file(cli: Cli, tmp_path: Path) -> None:
    unit = "[Service]\nEnvironmentFile=-/nonexistent/vllm\nExecStart=-/opt/bin/vllm serve Qwen/Qwen3-8B\n"
    document = scan(cli, tmp_path / "v.service", unit, "--sm", "9.0", "--strict")
    assert "the variables in /nonexistent/vllm" in document["diagnostics"][0]["message"]


def test_a_cluster_says_the_gpu(cli: Cli, tmp_path: Path) -> None:
    document = scan(cli, tmp_path / "kserve.yaml", KSERVE)
    assert [launch["sm"] for launch in document["launches"]] == ["9.0"]


def test_a_template_is_told(cli: Cli, tmp_path: Path) -> None:
    text = "apiVersion: v1\nspec:\n  containers:\n  {{- range .vllm }}\n  - image: x\n  {{- end }}\n"
    (tmp_path / "deployment.yaml").write_text(text, "utf-8")
    done = cli("scan", "deployment.yaml", **HERE)
    assert done.returncode == 2
    assert "this is a template: render it first, or --exclude it" in done.stderr


def test_commands_in_python(cli: Cli, tmp_path: Path) -> None:
    text = (
        'import subprocess, os\nMODEL = "Qwen/Qwen3-8B"\n'
        'subprocess.run(f"vllm serve {MODEL} --kv-cache-dtype nvfp4 --attention-backend FLASH_ATTN", shell=True)\n'
        'os.system("vllm serve Qwen/Qwen3-8B --kv-cache-dtype fp8 --port %d" % 8000)\n'
        'subprocess.Popen(["vllm", "serve", MODEL, "--port", str(8000)])\n'
        'subprocess.run(f"vllm serve {pick()} --kv-cache-dtype fp8")\n'
    )
    document = scan(cli, tmp_path / "a.py", text, "--sm", "9.0")
    verdicts = [(launch["line"], launch["verdict"]) for launch in document["launches"]]
    assert verdicts == [(3, "unsupported"), (4, "supported"), (5, "supported"), (6, "unknown")]


@pytest.mark.parametrize(
    ("name", "text", "versions"),
    [
        ("a.sh", 'uv pip install "vllm==0.25.1" -q\nvllm serve Qwen/Qwen3-8B\n', ["0.25.1"]),
        ("a.sh", "uvx vllm@0.24.0 serve Qwen/Qwen3-8B\n", ["0.24.0"]),
        ("a.sh", "uv run --with vllm[flashinfer]==0.28.0 vllm serve Qwen/Qwen3-8B\n", ["0.28.0"]),
        ("a.sh", "pip install vllm==0.25.1\ndocker run vllm/vllm-openai:v0.31.0 --model Qwen/Qwen3-8B\n", ["0.31.0"]),
        ("Dockerfile", "FROM ubuntu\nRUN pip install vllm==0.29.0\nCMD vllm serve Qwen/Qwen3-8B\n", ["0.29.0"]),
    ],
)
def test_an_installed_release_counts(cli: Cli, tmp_path: Path, name: str, text: str, versions: list[str]) -> None:
    path = tmp_path / name
    path.write_text(text, "utf-8")
    document = json.loads(cli("scan", name, "--sm", "9.0", "--format", "json", **HERE).stdout)
    assert [launch["engine_version"] for launch in document["launches"]] == versions


def test_documents(cli: Cli, tmp_path: Path) -> None:
    text = (
        "```console\nuser@host:~$ vllm serve Qwen/Qwen3-8B --kv-cache-dtype [auto|fp8]\n```\n"
        "```\nvllm serve [model_tag] [options]\n```\n"
        "```bash\nvllm serve Qwen/Qwen3-8B \\ # comment\n  --kv-cache-dtype fp8\n```\n"
    )
    document = scan(cli, tmp_path / "a.md", text, "--sm", "9.0")
    assert [launch["verdict"] for launch in document["launches"]] == ["unknown", "unknown", "unsupported"]
    assert "a backslash continues a line only as the last character" in document["diagnostics"][0]["message"]


def test_ansible(cli: Cli, tmp_path: Path) -> None:
    text = f"- docker_container:\n    image: vllm/vllm-openai:v0.33.0\n    command: {BAD.split('serve ')[1]}\n"
    assert answer(scan(cli, tmp_path / "a.yml", text, "--sm", "9.0")) == REFUSED


@pytest.mark.parametrize(
    "command",
    [
        "docker run rocm/vllm:latest vllm serve Qwen/Qwen3-8B --kv-cache-dtype fp8",
        "docker run registry/tool:1 convert --max-model-len 1 --model x",
    ],
)
def test_containers_of_others(cli: Cli, tmp_path: Path, command: str) -> None:
    assert scan(cli, tmp_path / "run.sh", command + "\n", "--sm", "9.0")["launches"] == []


def test_an_exported_variable_is_passed_on(cli: Cli, tmp_path: Path) -> None:
    run = "docker run -e VLLM_BATCH_INVARIANT vllm/vllm-openai:v0.33.0 Qwen/Qwen3-8B --attention-backend FLASHINFER\n"
    assert answer(scan(cli, tmp_path / "a.sh", run, "--sm", "9.0"))[0] == "unknown"
    document = scan(cli, tmp_path / "a.sh", "export VLLM_BATCH_INVARIANT=1\n" + run, "--sm", "9.0")
    assert answer(document) == ("unsupported", ["selector-use-batch-invariant"])
