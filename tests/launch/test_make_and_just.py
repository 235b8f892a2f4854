"""Recipes of Makefiles and justfiles, and Podman's quadlets."""

from __future__ import annotations

import pytest

from compatcheck.launch.files.makefile import Makefile
from compatcheck.launch.files.registry import reader_for
from compatcheck.launch.model import Launch

MAKEFILE = """\
MODEL ?= Qwen/Qwen3-8B
KV := nvfp4
ARGS = --kv-cache-dtype $(KV)
ARGS += --seed 1
TWICE = a
TWICE = b
.PHONY: serve
serve:
|@echo "vllm serve is starting"
|@docker run --rm -p $${PORT}:8000 vllm/vllm-openai:v0.25.1 --model $(MODEL) \\
|  $(ARGS) --dtype ${TWICE}
other: serve
|# vllm serve x
|-VLLM_LOGGING_LEVEL=INFO vllm serve $(shell pick a) --port $(PORT)
""".replace("|", "\t")
JUSTFILE = """\
set shell := ["bash", "-cu"]
model := "Qwen/Qwen3-8B"  # a comment
tag := env_var_or_default("TAG", "v0.25.1")
other := `git describe`

# vllm serve x
serve port="8000" *args:
    @echo vllm serve {{model}}
    @vllm serve {{ model }} --port {{port}} \\
        --kv-cache-dtype nvfp4 {{args}} --dtype {{other}}

docker model: build
    docker run vllm/vllm-openai:{{tag}} --model {{model}}

script:
    #!/usr/bin/env bash
    export VLLM_LOGGING_LEVEL=INFO
    vllm serve {{model}} --seed {{ x + "1" }}
"""
QUADLET = """\
[Unit]
Description=vllm serve something
[Container]
Image=docker.io/vllm/vllm-openai:v0.25.1
Environment=VLLM_LOGGING_LEVEL=INFO "B=c d"
EnvironmentFile=-/etc/vllm.env
Exec=--model Qwen/Qwen3-8B \\
  --kv-cache-dtype nvfp4
[Install]
WantedBy=default.target
"""


def read(path: str, text: str) -> list[Launch]:
    reader = reader_for(path, text)
    assert reader is not None
    return reader.launches(text)


def words(launch: Launch) -> list[str]:
    return ["?" if word.dynamic else word.text for word in launch.words]


@pytest.mark.parametrize("name", ["Makefile", "makefile", "GNUmakefile", "serve.mk", "deploy/Makefile.gpu"])
def test_makefile(name: str) -> None:
    docker, plain = read(name, MAKEFILE)
    assert words(docker) == ["--model", "Qwen/Qwen3-8B", "--kv-cache-dtype", "nvfp4", "--seed", "1", "--dtype", "b"]
    assert docker.image is not None
    assert (docker.image.text, docker.line) == ("vllm/vllm-openai:v0.25.1", 10)
    assert docker.words[2].line == 11
    assert words(plain) == ["?", "--port", "?"]
    assert plain.environment.keys() == {"VLLM_LOGGING_LEVEL"}


def test_what_a_makefile_sets_under_a_condition_is_not_known() -> None:
    text = "KV = fp8\nifdef NEW\nKV += x\nendif\na:\n\tvllm serve m --kv-cache-dtype $(KV)\n"
    assert words(read("Makefile", text)[0])[-1] == "?"


@pytest.mark.parametrize("name", ["justfile", "Justfile", ".justfile", "serve.just", "serve.justfile"])
def test_justfile(name: str) -> None:
    serve, docker, script = read(name, JUSTFILE)
    assert words(serve) == [
        *("Qwen/Qwen3-8B", "--port", "8000", "--kv-cache-dtype", "nvfp4"),
        *("?", "--dtype", "?"),
    ]
    assert [serve.line, serve.words[3].line] == [9, 10]
    assert docker.image is not None
    assert docker.image.text == "vllm/vllm-openai:v0.25.1"
    assert words(docker) == ["--model", "?"]  # a parameter of the recipe hides the variable
    assert words(script) == ["Qwen/Qwen3-8B", "--seed", "?"]
    assert script.environment.keys() == {"VLLM_LOGGING_LEVEL"}


def test_quadlet() -> None:
    (launch,) = read("vllm.container", QUADLET)
    assert [(word.text, word.line) for word in launch.words] == [
        *(("--model", 7), ("Qwen/Qwen3-8B", 7)),
        *(("--kv-cache-dtype", 8), ("nvfp4", 8)),
    ]
    assert {name: word.text for name, word in launch.environment.items()} == {"VLLM_LOGGING_LEVEL": "INFO", "B": "c d"}
    assert [word.text for word in launch.env_files] == ["/etc/vllm.env"]
    entry = QUADLET.replace("Exec=--model", "Entrypoint=python3\nExec=-m vllm.entrypoints.openai.api_server --model")
    assert read("a.container", entry)[0].program == "python -m vllm.entrypoints.openai.api_server"
    assert not read("a.container", "[Container]\nImage=docker.io/library/redis:7\nExec=redis-server\n")
    assert not read("a.container", QUADLET.replace("Image=", "X="))


@pytest.mark.parametrize("name", ["run.sbatch", "run.slurm", "run.zsh"])
def test_scripts_of_other_names(name: str) -> None:
    assert len(read(name, "#SBATCH -G 1\nsrun vllm serve Qwen/Qwen3-8B\n")) == 1


def test_hostile_files_end() -> None:
    names = [f"V{n}" for n in range(40)]
    lines = [f"{name} = {' '.join([f'$({before})'] * 20)}" for name, before in zip(names[1:], names, strict=False)]
    body = "\n".join([*lines, "V0 = x", "LOOP = $(LOOP) y", "a:", "|vllm serve $(V39) $(LOOP)"])
    assert read("Makefile", body.replace("|", "\t"))[0].words[0].dynamic
    assert not read("justfile", "a" + " " * 200_000 + "\nb " + "c" * 200_000 + ":\n    true\n")
    doubling = "A=(--seed 1)\nO=x\n" + 'A+=("${A[@]}")\nO="$O$O"\n' * 60 + 'vllm serve m $O "${A[@]}"\n'
    assert read("run.sh", doubling)[0].words
    python = 'cmd = ["vllm", "serve", "m"]\n' + "cmd += cmd\ncmd = [*cmd, *cmd]\n" * 60 + "run(cmd)\n"
    assert read("a.py", python)[0].words[-1].dynamic


def test_a_long_chain_of_variables_ends() -> None:
    chain = "".join(f"V{n} = $(V{n + 1})\n" for n in range(2000)) + "V2000 = m\n"
    assert Makefile().launches(f"{chain}serve:\n\tvllm serve $(V0) --kv-cache-dtype fp8\n")


@pytest.mark.parametrize(
    ("name", "text", "count"),
    [
        ("Makefile", "a:\n\tvllm serve m " + "$(" * 400_000, 1),
        ("Makefile", "V := $(" + "$(A" * 300_000 + "\na:\n\tvllm serve m $(V)\n", 1),
        ("Makefile", "A := " + "x" * 19_000 + "\na:\n\tvllm serve m " + "$(A) " * 25_000, 1),
        ("Makefile", "A = x\n" + "A += --seed 1\n" * 60_000 + "a:\n\tvllm serve m $(A)\n", 1),
        ("Makefile", "a: V = 1\n" * 50_000 + "a " * 300_000 + ":\n\tvllm serve m $(V)\n", 1),
        ("Makefile", "".join(f"a: V{n} = 1\na b{n}:\n\tvllm serve m $(V1)\n" for n in range(3000)), 3000),
        ("Makefile", "ifdef X\n" * 20_000 + "V = 1\n" * 50_000 + "a:\n\tvllm serve m $(V)\n", 1),
        ("Makefile", "export\n" + "".join(f"V{n} = 1\n" for n in range(30_000)) + "a:\n\tvllm serve m\n" * 2000, 2000),
        ("justfile", "a := " + "(" * 500_000 + "\nb:\n    vllm serve {{a}}\n", 0),
        (
            "justfile",
            "a0 := 'x'\n" + "".join(f"a{n + 1} := a{n} + a{n}\n" for n in range(9000)) + "b:\n  vllm serve {{a99}}",
            1,
        ),
        ("a.container", "[Container]\nImage=vllm/vllm-openai:v0.25.1\n" + "Environment=A=1\n" * 60_000, 1),
        ("a.container", "[Container]\nImage=vllm/vllm-openai:v0.25.1\nPodmanArgs=" + "--env A=1 " * 90_000, 1),
        ("a.service", "[Service]\nEnvironment=A=" + "x" * 19_000 + "\nExecStart=vllm serve m " + "${A} " * 90_000, 1),
    ],
    ids=range(13),
)
def test_large_files_end(name: str, text: str, count: int) -> None:
    found = read(name, text)
    assert len(found) == count
    assert sum(len(word.text) for launch in found for word in launch.words) < 10_000_000
