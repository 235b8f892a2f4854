"""Units of systemd and Podman's quadlets: sections, words, variables and where more of them come from."""

from __future__ import annotations

import pytest

from compatcheck.launch.files.podman_quadlet import PodmanQuadlet
from compatcheck.launch.files.systemd_unit import SystemdUnit
from compatcheck.launch.model import Launch, Word

IMAGE = "[Container]\nImage=docker.io/vllm/vllm-openai:v0.25.1\n"


def shown(words: tuple[Word, ...]) -> str:
    return " ".join(f"?{word.text}" if word.dynamic else word.text for word in words)


def environment(launch: Launch) -> dict[str, str]:
    return {name: shown((word,)) for name, word in launch.environment.items()}


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ("ExecStart=/bin/vllm serve m \\\n# between\n  --x 1", ["m --x 1"]),
        ("ExecStart=-@!/bin/vllm vllm serve m", ["m"]),
        ("ExecStart=/bin/vllm serve a ; /bin/vllm serve b", ["a", "b"]),
        ("ExecStart=vllm serve a\nExecStart=\nExecStart=vllm serve b", ["b"]),
        ("ExecStart=vllm serve %i --x %h/m 100%%", ["?%i --x ?%h/m 100%"]),
        ("Environment=KV=fp8\nExecStart=vllm serve m --x ${KV} --y=${KV}", ["m --x fp8 --y=fp8"]),
        ("ExecStart=vllm serve m --x ${KV}\nEnvironment=KV=fp8", ["m --x fp8"]),
        ("ExecStart=vllm serve m $ARGS ${ARGS}\nEnvironment='ARGS=-a b'", ["m -a b -a b"]),
        ("ExecStart=vllm serve m ${NO} $NO", ["m ?${NO} ?$NO"]),
        ("EnvironmentFile=/x\nEnvironment=KV=fp8\nExecStart=vllm serve m ${KV}", ["m ?${KV}"]),
        ("ExecStart=/bin/sh -c 'exec vllm serve %i --x $$KV ${NO}'\nEnvironment=KV=1", ["?%i --x 1 ?${NO}"]),
        ('ExecStart=vllm serve m --x \'{"a": 1}\' --y "b c" \\x41', ['m --x {"a": 1} --y b c A']),
        ("ExecStart=vllm serve {{ m }} --x '{{ a b }}{%c%}' {d} {{", ["?{{ m }} --x ?{{ a b }}{%c%} {d} {{"]),
        ("ExecStartPre=vllm serve no\nExecStart=/bin/true", []),
    ],
)
def test_units(settings: str, words: list[str]) -> None:
    text = f"[Unit]\nExecStart=vllm serve no\n[Service]\n{settings}\n[Install]\nExecStart=vllm serve no\n"
    assert [shown(launch.words) for launch in SystemdUnit().launches(text)] == words


@pytest.mark.parametrize(
    ("settings", "expected", "files"),
    [
        ("Environment=\"A=1\" 'B=2 3' C=4", {"A": "1", "B": "2 3", "C": "4"}, []),
        ("Environment=A=1\nEnvironment=\nEnvironment=B=1", {"B": "1"}, []),
        ("Environment=A=1 \\\n  B=2\nUnsetEnvironment=A", {"B": "2"}, []),
        ("Environment=A=%i", {"A": "?%i"}, []),
        ("PassEnvironment=A B", {"A": "?A", "B": "?B"}, []),
        ("EnvironmentFile=-/etc/%p.env\nEnvironment=A=1", {"A": "?1"}, ["/etc/%p.env"]),
        ("EnvironmentFile=/a\nEnvironmentFile=\nEnvironment=A=1", {"A": "1"}, []),
        ("[Install]\nEnvironment=A=1", {}, []),
    ],
)
def test_variables_of_units(settings: str, expected: dict[str, str], files: list[str]) -> None:
    (launch,) = SystemdUnit().launches(f"[Service]\nExecStart=vllm serve m\n{settings}\n")
    assert environment(launch) == expected
    assert [word.text for word in launch.env_files] == files


@pytest.mark.parametrize(
    ("settings", "words", "expected", "files"),
    [
        ("Exec=--model m \\\n; between\n --x %i", "--model m --x ?%i", {}, []),
        ("Exec=--model m\n[Service]\nEnvironment=A=1", "--model m", {}, []),
        ("Exec=--model m ${KV}\n[Service]\nEnvironment=KV=x", "--model m x", {}, []),
        (
            "Exec=--model m\nEnvironment=A=1\nPodmanArgs=--env A=2 -e B=3 -d",
            "--model m",
            {"A": "2", "B": "3"},
            [],
        ),
        ("Exec=--model m\nPodmanArgs=--env-file /a --env B", "--model m", {"B": "?B"}, ["/a"]),
        (
            "Exec=--model m\nSecret=s,type=env,target=A\nSecret=t,type=env",
            "--model m",
            {"A": "?s,type=env,target=A", "t": "?t,type=env"},
            [],
        ),
        ("Exec=--model m\nEnvironmentFile=%h/a", "--model m", {}, ["%h/a"]),
        ("Exec=--model m\nPodmanArgs=--entrypoint '' ", "--model m", {}, []),
        ("Entrypoint=vllm\nExec=serve m", "m", {}, []),
        ('Entrypoint=["vllm", "serve"]\nExec=m', "m", {}, []),
        ("PodmanArgs=--entrypoint vllm\nExec=serve m", "m", {}, []),
    ],
)
def test_quadlets(settings: str, words: str, expected: dict[str, str], files: list[str]) -> None:
    text = f"[Unit]\nExec=--model no\n{IMAGE}{settings}\n"
    found = PodmanQuadlet().launches(text)
    if "''" in settings:
        assert not found  # without the image's entrypoint the options are a command, and it is not vLLM's
        return
    (launch,) = found
    assert (shown(launch.words), environment(launch)) == (words, expected)
    assert [word.text for word in launch.env_files] == files


@pytest.mark.parametrize(("value", "count"), [("true", 1), ("yes", 1), ("false", 0)])
def test_a_quadlet_with_the_environment_of_the_host(value: str, count: int) -> None:
    (launch,) = PodmanQuadlet().launches(f"{IMAGE}EnvironmentHost={value}\nExec=--model m\n")
    assert len(launch.elsewhere) == count
    assert all("EnvironmentHost" in word.text and word.line == 3 for word in launch.elsewhere)


@pytest.mark.parametrize("args", ["$MORE", "--gpus all ${MORE}", "--gpus=all " * 1001])
def test_options_of_podman_that_are_not_read(args: str) -> None:
    (launch,) = PodmanQuadlet().launches(f"{IMAGE}PodmanArgs={args}\nExec=--model m\n")
    assert [(word.text, word.line) for word in launch.elsewhere] == [("PodmanArgs from elsewhere", 3)]


def test_a_unit_that_names_its_release() -> None:
    (launch,) = SystemdUnit().launches("[Service]\nExecStart=uvx --from vllm==0.25.0 vllm serve m\n")
    assert launch.engine_version is not None
    assert launch.engine_version.text == "0.25.0"
