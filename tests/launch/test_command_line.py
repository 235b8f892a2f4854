"""The forms in which people launch the engine."""

from __future__ import annotations

import pytest

from compatcheck.launch.command_line import launches_in_script
from compatcheck.launch.image_release import brought_by
from compatcheck.launch.model import Word


@pytest.mark.parametrize(
    "script",
    [
        "vllm serve m --dtype half",
        "/opt/venv/bin/vllm serve m --dtype half",
        "python -m vllm.entrypoints.openai.api_server --model m --dtype half",
        "python3.12 -u -m vllm.entrypoints.openai.api_server --model m --dtype half",
        "CUDA_VISIBLE_DEVICES=0 VLLM_X=1 vllm serve m --dtype half",
        "env A=1 vllm serve m --dtype half",
        "nohup numactl --cpunodebind=0 vllm serve m --dtype half > log 2>&1 &",
        "uv run --with vllm vllm serve m --dtype half",
        "$ vllm serve m --dtype half",
        "bash -lc 'source x && exec vllm serve m --dtype half'",
        "docker run --gpus all -e A=1 -p 8000:8000 vllm/vllm-openai:v0.25.1 --model m --dtype half",
        "sudo docker run --rm -it --entrypoint vllm custom/image serve m --dtype half",
        "podman run --device nvidia.com/gpu=all vllm/vllm-openai m --dtype half",
        "if true; then vllm serve m --dtype half; fi",
    ],
)
def test_found(script: str) -> None:
    (launch,) = launches_in_script(script)
    assert [word.text for word in launch.words][-2:] == ["--dtype", "half"]


@pytest.mark.parametrize(
    "script",
    [
        "echo vllm serve m",
        "pip install vllm",
        "curl http://vllm serve",
        "vllm bench serve --model m",
        "docker run ubuntu vllm",
        "docker pull vllm/vllm-openai:v0.25.1",
        "docker run --entrypoint bash vllm/vllm-openai:v0.25.1",
        "vllm --help",
        "# vllm serve m",
    ],
)
def test_not_a_launch(script: str) -> None:
    assert not launches_in_script(script)


def test_exports_reach_later_launches_and_prefixes_only_theirs() -> None:
    one, two = launches_in_script("export A=1\nB=2 vllm serve x\nunset A\nvllm serve y")
    assert one.environment["A"].text == "1"
    assert one.environment["B"].text == "2"
    assert not two.environment


def test_words_of_the_environment_that_is_given_stay_as_they_are() -> None:
    given = {"A": Word("<a>", 3, 4, dynamic=True), "B": Word("1", 5, 6)}
    (launch,) = launches_in_script("B=2\nvllm serve m ${A:-x}", environment=given)
    assert launch.environment["A"] == given["A"]
    assert launch.environment["B"].text == "2"
    assert launch.words[1].dynamic


def test_prompts_are_no_part_of_a_command() -> None:
    (launch,) = launches_in_script("$ export A=1\nme@host:~$ KV=fp8\n$ vllm serve m --kv-cache-dtype $KV\n")
    assert [word.text for word in launch.words] == ["m", "--kv-cache-dtype", "fp8"]
    assert launch.environment["A"].text == "1"


def test_the_container_brings_environment_and_image() -> None:
    script = "X=1 docker run -e VLLM_A=b -eVLLM_C=d --env VLLM_E vllm/vllm-openai:v0.31.0-cu129 m"
    (launch,) = launches_in_script(script)
    assert {name: word.text for name, word in launch.environment.items()} == {
        "VLLM_A": "b",
        "VLLM_C": "d",
        "VLLM_E": "VLLM_E",
    }
    assert launch.environment["VLLM_E"].dynamic
    assert launch.image is not None
    brought = brought_by(launch.image.text)
    assert brought is not None
    assert brought.vllm == "0.31.0"


@pytest.mark.parametrize(
    ("rest", "programs"),
    [("serve m", ["vllm serve"]), ("bench throughput --model m", ["vllm bench throughput"]), ("bench forward m", [])],
)
def test_the_module_behind_the_command(rest: str, programs: list[str]) -> None:
    found = launches_in_script(f"torchrun --nproc-per-node=4 -m vllm.entrypoints.cli.main {rest}")
    assert [launch.program for launch in found] == programs


def test_what_vllm_omni_takes_over_is_no_launch_of_vllm() -> None:
    assert launches_in_script("vllm serve m --omni --cache-backend x") == []
    assert launches_in_script("vllm serve m --omni-x")
