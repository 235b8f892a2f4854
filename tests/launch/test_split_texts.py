"""Commands that stand as one text: what splits them is a shell only where one is started."""

from __future__ import annotations

import pytest

from compatcheck.launch.files.registry import reader_for
from compatcheck.launch.model import Launch

SERVICE = "services:\n  a:\n    image: vllm/vllm-openai:v0.33.0\n    entrypoint: [vllm, serve]\n    command: %s\n"
SHELL = "services:\n  a:\n    image: vllm/vllm-openai:v0.33.0\n    entrypoint: ''\n    command: %s\n"


def only(file: str, text: str) -> Launch:
    reader = reader_for(file, text)
    assert reader is not None
    (launch,) = reader.launches(text)
    return launch


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (">-\n      M\n      # --enforce-eager\n      --seed 1", ["M", "#", "--enforce-eager", "--seed", "1"]),
        ("|-\n      M\n      # old\n      --seed 1", ["M", "#", "old", "--seed", "1"]),
        ("|-\n      M\n      --seed 1", ["M", "--seed", "1"]),
        ("|-\n      M \\\n      --seed 1", ["M", "\n--seed", "1"]),
        ("M --seed 1 && echo done", ["M", "--seed", "1"]),
        ("M --served-model-name a#b", ["M", "--served-model-name", "a#b"]),
        ("M -sc {a,b}", ["M", "-sc", "{a,b}"]),
    ],
)
def test_compose_is_no_shell(command: str, words: list[str]) -> None:
    found = only("compose.yaml", SERVICE % command).words
    assert [word.text for word in found] == words
    assert not any(word.dynamic for word in found)


@pytest.mark.parametrize(
    ("file", "text", "elsewhere"),
    [
        ("compose.yaml", SHELL % '|\n      bash -c "\n      # x\n      vllm serve M --seed 1"', []),
        ("compose.yaml", SHELL % '|\n      bash -c "vllm serve M \\\n      --seed 1"', ["the line of --seed"]),
        ("swap.yaml", "cmd: |\n  vllm serve M\n  --seed 1\n", ["the line of --seed"]),
        ("swap.yaml", "cmd: |\n  vllm serve M \\\n    --seed 1\n", []),
        ("swap.yaml", "cmd: >\n  vllm serve M\n  --seed 1\n", []),
        ("swap.yaml", "run: [vllm serve M, --seed 1]\n", ["the line of --seed"]),
        ("swap.yaml", 'run: "vllm serve M\\n\\n--seed 1"\n', ["the line of --seed"]),
        ("swap.yaml", "run: |\n  args=(\n  --seed 1\n  )\n  vllm serve M ${args[@]}\n", []),
        ("swap.yaml", "run: |\n  cat <<EOF\n  --seed 1\n  EOF\n  vllm serve M\n", []),
    ],
)
def test_lines_of_options_that_nothing_joins(file: str, text: str, elsewhere: list[str]) -> None:
    assert [word.text for word in only(file, text).elsewhere] == elsewhere


WORKFLOW = """\
apiVersion: argoproj.io/v1alpha1
kind: WorkflowTemplate
metadata: {annotations: {command: vllm serve X}}
spec:
  workflowMetadata: {annotations: {command: vllm serve X}}
  templates:
  - script: {image: "vllm/vllm-openai:v0.33.0", source: vllm serve A}
  - containerSet: {containers: [{image: "vllm/vllm-openai:v0.33.0", command: [vllm, serve, B]}]}
  - initContainers: [{image: "vllm/vllm-openai:v0.33.0", args: [--model, C], restartPolicy: Always}]
  - sidecars: [{image: "vllm/vllm-openai:v0.33.0", args: [--model, D]}]
"""


def test_scripts_and_containers_of_one_document_are_all_found() -> None:
    reader = reader_for("workflow.yaml", WORKFLOW)
    assert reader is not None
    assert [launch.words[-1].text for launch in reader.launches(WORKFLOW)] == ["A", "B", "C", "D"]
