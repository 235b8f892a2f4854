"""Files around a launch, through the real command: model folders, images, manifests, encodings."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Cli

HERE = {"HF_HOME": "/nonexistent", "HF_HUB_CACHE": "/nonexistent"}
AT = ("--no-host", "--sm", "9.0", "--vllm", "0.33.0")
LLAMA = {"model_type": "llama", "head_dim": 128, "num_attention_heads": 32, "num_key_value_heads": 8}


def model(folder: Path, config: str, quantization: str | None = None) -> None:
    folder.mkdir(exist_ok=True)
    (folder / "config.json").write_text(config, "utf-8")
    if quantization is not None:
        (folder / "hf_quant_config.json").write_text(quantization, "utf-8")


@pytest.mark.parametrize(
    ("config", "place", "what"),
    [
        ('{\n "model_type": "llama",\n}', "m/config.json:3:1: ", "not JSON"),
        ('["llama"]', "m/config.json:1:1: ", "a JSON object, found list"),
        ('{"model_type": "llama",\n "head_dim": -128}', "m/config.json:2:14: ", "head_dim is -128"),
        ('{"text_config": {\n  "num_attention_heads": "32"}}', "m/config.json:2:26: ", "positive whole number"),
        ('{"kv_lora_rank": 1.5}', "m/config.json:1:18: ", "kv_lora_rank is 1.5"),
    ],
)
def test_unreadable_model_folders(cli: Cli, tmp_path: Path, config: str, place: str, what: str) -> None:
    model(tmp_path / "m", config)
    for arguments in (
        ("check", *AT, "--model", "m"),
        ("check", *AT, "--", "vllm", "serve", "m"),
        ("select", *AT, "--model", "m"),
    ):
        done = cli(*arguments, **HERE)
        assert done.returncode == 2
        assert done.stderr.startswith(place)
        assert what in done.stderr
        assert "--head-size" not in done.stderr
    (tmp_path / "a.sh").write_text("vllm serve m\n", "utf-8")
    scanned = cli("scan", "a.sh", "--sm", "9.0", **HERE)
    assert (scanned.returncode, scanned.stderr.count(place)) == (2, 1)


@pytest.mark.parametrize("name", ["./gone", "/gone/model", "gone.json", "empty"])
def test_a_path_that_leads_to_no_model(cli: Cli, tmp_path: Path, name: str) -> None:
    (tmp_path / "empty").mkdir()
    done = cli("check", *AT, "--model", name, **HERE)
    assert (done.returncode, done.stdout) == (2, "")
    assert ":1:1: no such file" in done.stderr


def test_a_bad_quantisation_file_leaves_the_configuration(cli: Cli, tmp_path: Path) -> None:
    model(tmp_path / "m", json.dumps(LLAMA), '{"quantization": ')
    done = cli("check", *AT, "--model", "m", **HERE)
    assert done.returncode == 2
    assert done.stderr.startswith("m/hf_quant_config.json:1:18: not JSON")
    assert done.stdout.startswith("unknown  FLASH_ATTN, KV cache auto, head size 128 on SM 9.0")
    assert "to decide, tell: what m/hf_quant_config.json says" in done.stdout


def test_a_quantisation_that_is_no_object(cli: Cli, tmp_path: Path) -> None:
    model(tmp_path / "m", json.dumps(LLAMA | {"quantization_config": "fp8"}))
    done = cli("check", *AT, "--model", "m", **HERE)
    assert done.returncode == 2
    assert "quantization_config is 'fp8', not an object" in done.stderr


def scan(cli: Cli, path: Path, text: str | bytes, *more: str) -> tuple[int, dict[str, Any]]:
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    done = cli("scan", path.name, "--format", "json", *more, **HERE)
    return done.returncode, json.loads(done.stdout)


COMPOSE = """services:
  llm:
    image: {image}
    command: [--model, Qwen/Qwen3-8B, --kv-cache-dtype, nvfp4, --max-model-len, "8192"]
"""


@pytest.mark.parametrize(
    ("image", "version"),
    [
        ("vllm/vllm-openai:${TAG:-v0.25.1}", "0.25.1"),
        ("${REGISTRY-docker.io}/vllm/vllm-openai:${TAG-v0.24.0}", "0.24.0"),
        ("registry.example/team/vllm-custom:7", "0.33.0"),
        ("registry.example/llm-server:7", "0.33.0"),
        ("nvcr.io/nvidia/vllm:26.01-py3", "0.11.1"),
        ("nvcr.io/nvidia/vllm:25.11-py3", "0.33.0"),
        ("lmcache/vllm-openai:v0.3.12", "0.33.0"),
    ],
)
def test_images(cli: Cli, tmp_path: Path, image: str, version: str) -> None:
    _, document = scan(cli, tmp_path / "compose.yaml", COMPOSE.format(image=image), "--sm", "12.0")
    assert [launch["engine_version"] for launch in document["launches"]] == [version]


@pytest.mark.parametrize("image", ["lmsysorg/sglang:v0.5", "vllm/vllm-rocm:latest", "postgres:16"])
def test_other_images_are_not_vllm(cli: Cli, tmp_path: Path, image: str) -> None:
    text = COMPOSE.format(image=image)
    text = text.replace("--model,", "--model-path,") if "sglang" in image else text
    text = text if "postgres" not in image else text.split("    command")[0] + "    command: [--port, '1']\n"
    assert scan(cli, tmp_path / "compose.yaml", text)[1]["launches"] == []


def test_a_default_of_a_dockerfile(cli: Cli, tmp_path: Path) -> None:
    text = 'ARG TAG=v0.25.1\nFROM vllm/vllm-openai:${TAG}\nCMD ["Qwen/Qwen3-8B", "--kv-cache-dtype", "nvfp4"]\n'
    document = scan(cli, tmp_path / "Dockerfile", text, "--sm", "12.0")[1]
    assert [launch["engine_version"] for launch in document["launches"]] == ["0.25.1"]


POD = """apiVersion: v1
kind: Pod
spec:
  containers:
    - name: vllm
      image: vllm/vllm-openai:v0.33.0
      args: [Qwen/Qwen3-8B]
{more}
"""


def test_variables_from_elsewhere(cli: Cli, tmp_path: Path) -> None:
    value = "      env: [{name: VLLM_ATTENTION_BACKEND, valueFrom: {configMapKeyRef: {name: c, key: k}}}]"
    document = scan(cli, tmp_path / "pod.yaml", POD.format(more=value), "--sm", "9.0")[1]
    (found,) = document["diagnostics"]
    assert found["help"] == "Use --attention-backend VALUE. VALUE is what it gets."
    whole = "      envFrom: [{configMapRef: {name: tuning}}]"
    code, document = scan(cli, tmp_path / "pod.yaml", POD.format(more=whole), "--sm", "9.0", "--strict")
    assert (code, document["diagnostics"][0]["message"]) == (
        3,
        "The verdict is unknown: the variables in config map tuning.",
    )
    env_file = COMPOSE.format(image="vllm/vllm-openai:v0.33.0") + "    env_file: [gone.env]\n"
    code, document = scan(cli, tmp_path / "compose.yaml", env_file.replace("nvfp4", "fp8"), "--sm", "9.0", "--strict")
    assert "gone.env" in document["diagnostics"][0]["message"]


def test_utf_16_is_read_or_told(cli: Cli, tmp_path: Path) -> None:
    text = "vllm serve Qwen/Qwen3-8B --kv-cache-dtype nvfp4 --attention-backend FLASH_ATTN\n"
    code, document = scan(cli, tmp_path / "a.sh", text.encode("utf-16"), "--sm", "9.0")
    assert (code, [d["line"] for d in document["diagnostics"]]) == (1, [1])
    (tmp_path / "b.sh").write_bytes(text.encode("utf-16-le"))
    done = cli("scan", "b.sh", **HERE)
    assert (done.returncode, done.stderr.splitlines()[-1]) == (
        2,
        "b.sh:1:1: UTF-16 without a byte order mark; save it as UTF-8",
    )
    (tmp_path / "c.bin").write_bytes(b"\x00\x01vllm")
    assert "c.bin: not looked at" in cli("scan", "c.bin", **HERE).stderr


def test_a_folder_is_searched_for_every_kind_of_file(cli: Cli, tmp_path: Path) -> None:
    serve = "vllm serve Qwen/Qwen3-8B\n"
    files = {
        "run.sbatch": serve,
        "job.slurm": serve,
        "Makefile": f"serve:\n\t{serve}",
        "justfile": f"serve:\n    {serve}",
        "vllm.container": "[Container]\nImage=vllm/vllm-openai:v0.25.1\nExec=--model Qwen/Qwen3-8B\n",
        "vllm.service": f"[Service]\nExecStart=/usr/bin/{serve}",
        "notes.txt": serve,
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text, "utf-8")
    done = cli("scan", str(tmp_path), "--format", "json", HF_HOME="/nonexistent")
    found = {Path(launch["file"]).name for launch in json.loads(done.stdout)["launches"]}
    assert found == files.keys() - {"notes.txt"}
