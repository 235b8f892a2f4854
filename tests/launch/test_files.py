"""Launches in files, each at its place; foreign files are read leniently and never run."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compatcheck.launch.files.reader import UnreadableError
from compatcheck.launch.files.registry import READERS, reader_for
from compatcheck.launch.model import Launch
from compatcheck.launch.yaml_lenient import YamlError, read_lenient

COMPOSE = """\
x-env: &env
  VLLM_ATTENTION_BACKEND: FLASHINFER
services:
  a:
    image: vllm/vllm-openai:v0.25.1
    environment:
      <<: *env
      A: ${B}
    command: --model Qwen/Qwen3-8B --kv-cache-dtype nvfp4
  b:
    image: vllm/vllm-openai:latest
    environment: [C=1]
    command:
      - --model
      - "Qwen/Qwen3-8B"
      - --dtype=half
  c:
    image: redis
    command: redis-server
"""
MANIFEST = """\
apiVersion: apps/v1
kind: Deployment
spec:
  template:
    spec:
      nodeSelector:
        nvidia.com/gpu.product: NVIDIA-H200
      containers:
      - name: v
        image: vllm/vllm-openai:v0.31.0
        command: ["/bin/sh", "-c"]
        args:
        - |
          export A=1
          vllm serve Qwen/Qwen3-8B \\
            --kv-cache-dtype fp8
        env:
        - {name: VLLM_X, value: "1"}
        - {name: TOKEN, valueFrom: {secretKeyRef: {name: s, key: k}}}
---
kind: Service
"""
DOCKERFILE = """\
FROM vllm/vllm-openai:v0.30.0 AS base
ENV VLLM_MLA_DISABLE=1
FROM base
ENV VLLM_BATCH_INVARIANT 1
# a comment
CMD ["--model", "Qwen/Qwen3-8B", \\
     "--dtype", "half"]
FROM python:3.12
ENTRYPOINT vllm serve Qwen/Qwen3-8B \\
  --dtype half
"""
MARKDOWN = """\
# Title

1. Start it:

   ```bash
   vllm serve Qwen/Qwen3-8B \\
     --dtype half
   ```

```python
from vllm import LLM
name = "Qwen/Qwen3-8B"
llm = LLM(model=name, kv_cache_dtype="fp8")
```

```python
vllm serve Qwen/Qwen3-8B --seed 1
```

    not a fence: vllm serve x
"""
PYTHON = """\
import os
from vllm import LLM, AsyncEngineArgs
os.environ["VLLM_ATTENTION_BACKEND"] = "FLASHINFER"
MODEL = "Qwen/Qwen3-8B"
def f(size):
    return LLM(
        MODEL,
        kv_cache_dtype="nvfp4",
        tensor_parallel_size=size,
        attention_config={"backend": "FLASH_ATTN"},
    )
cmd = ["vllm", "serve", MODEL, "--dtype", "half"]
"""


def read(path: str, text: str) -> list[Launch]:
    reader = reader_for(path, text)
    assert reader is not None
    return reader.launches(text)


def places(launch: Launch) -> list[tuple[str, int, int]]:
    return [(word.text, word.line, word.column) for word in launch.words]


def test_compose() -> None:
    one, two = read("compose.yaml", COMPOSE)
    assert places(one)[:2] == [("--model", 9, 14), ("Qwen/Qwen3-8B", 9, 22)]
    assert one.environment["VLLM_ATTENTION_BACKEND"].line == 2
    assert one.environment["A"].dynamic
    assert one.image is not None
    assert (one.image.text, one.image.line, one.image.column) == ("vllm/vllm-openai:v0.25.1", 5, 12)
    assert places(two) == [("--model", 14, 9), ("Qwen/Qwen3-8B", 15, 10), ("--dtype=half", 16, 9)]
    assert two.environment["C"].text == "1"


def test_kubernetes() -> None:
    (launch,) = read("deploy.yml", MANIFEST)
    assert places(launch) == [("Qwen/Qwen3-8B", 15, 22), ("--kv-cache-dtype", 16, 13), ("fp8", 16, 30)]
    assert launch.gpu is not None
    assert launch.gpu.text == "NVIDIA-H200"
    assert {name: word.dynamic for name, word in launch.environment.items()} == {
        "VLLM_X": False,
        "TOKEN": True,
        "A": False,
    }


def test_dockerfile() -> None:
    one, two = read("docker/Dockerfile.gpu", DOCKERFILE)
    assert [word[0] for word in places(two)] == ["Qwen/Qwen3-8B", "--dtype", "half"]
    assert places(two)[1] == ("--dtype", 10, 3)
    assert one.environment.keys() == {"VLLM_MLA_DISABLE", "VLLM_BATCH_INVARIANT"}
    assert one.image is not None
    assert one.image.text == "vllm/vllm-openai:v0.30.0"
    assert [word.line for word in one.words] == [6, 6, 7, 7]


def test_markdown() -> None:
    shell, python, mislabelled = read("README.md", MARKDOWN)
    assert places(shell)[1:] == [("--dtype", 7, 6), ("half", 7, 14)]
    assert [(s.written, s.value, s.line) for s in python.settings] == [
        ("model", "Qwen/Qwen3-8B", 13),
        ("kv_cache_dtype", "fp8", 13),
    ]
    assert mislabelled.line == 17


def test_markdown_has_every_kind_of_yaml() -> None:
    script = "```yaml\nresources: {accelerators: H100:1}\nrun: |\n  vllm serve Qwen/Qwen3-8B --seed 1\n```\n"
    assert [(launch.line, launch.column) for launch in read("README.md", script)] == [(4, 3)]
    service = (
        "```yaml\napiVersion: serving.kserve.io/v1beta1\nkind: InferenceService\nspec:\n  predictor:\n    model:\n"
        "      modelFormat: {name: vLLM}\n      storageUri: hf://Qwen/Qwen3-8B\n      args: [--seed=1]\n```\n"
    )
    assert [word.text for word in read("README.md", service)[0].words][-1:] == ["--seed=1"]


SPREAD = """\
from vllm import LLM as Engine
settings = dict(attention_backend="FLASHMLA")
changed = {"attention_backend": "FLASHMLA"}
changed["attention_backend"] = pick()
Engine("Qwen/Qwen3-8B", **settings)
Engine("Qwen/Qwen3-8B", **changed)
Engine("Qwen/Qwen3-8B", **load())
"""


def test_python_spreads_a_dictionary_and_renames_the_class() -> None:
    known, changed, called = read("a.py", SPREAD)
    assert known.program == "LLM()"
    assert [(s.option, s.value, s.dynamic) for s in known.settings[1:]] == [("--attention-backend", "FLASHMLA", False)]
    assert [(s.written, s.dynamic) for s in changed.settings[1:]] == [("attention_backend", True)]
    assert [(s.written, s.dynamic) for s in called.settings[1:]] == [("**load()", True)]


def test_python() -> None:
    call, listed = read("serve.py", PYTHON)
    assert [(s.written, s.dynamic, s.line) for s in call.settings] == [
        ("model", False, 7),
        ("kv_cache_dtype", False, 8),
        ("tensor_parallel_size", True, 9),
        ("attention_config", False, 10),
    ]
    assert call.environment["VLLM_ATTENTION_BACKEND"].text == "FLASHINFER"
    assert places(listed)[0][0] == "Qwen/Qwen3-8B"


def test_other_platforms_are_left_alone() -> None:
    assert not read(
        "compose.yaml", "services:\n  a:\n    image: vllm/vllm-openai-rocm:v0.31.0\n    command: --model m\n"
    )


@pytest.mark.parametrize(
    ("path", "text", "place"),
    [
        ("compose.yaml", "services:\n  a: [\n", (3, 1)),
        ("a.yaml", "containers:\n  {{ toYaml }}\n  - b", (3, 3)),
        ("a.py", "LLM = (\n", (1, 7)),
    ],
)
def test_what_cannot_be_read_says_where(path: str, text: str, place: tuple[int, int]) -> None:
    with pytest.raises(UnreadableError) as caught:
        read(path, text)
    assert (caught.value.line, caught.value.column) == place


def test_alias_bombs_are_refused() -> None:
    lines = ["a0: &a0 [x, x]"] + [f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]" for n in range(1, 40)]
    with pytest.raises(YamlError, match="aliases"):
        read_lenient("\n".join(lines), "bomb.yaml")
    with pytest.raises(YamlError, match="nested deeper"):
        read_lenient("a: " + "[" * 150 + "]" * 150, "deep.yaml")


def test_an_alias_inside_itself_is_refused() -> None:
    with pytest.raises(YamlError):
        read_lenient("a: &a [*a]", "self.yaml")


def test_tags_construct_nothing() -> None:
    (document,) = read_lenient("a: !!python/object/apply:os.system ['touch x']\nb: !Ref c", "tags.yaml")
    assert document.plain() == {"a": ["touch x"], "b": "c"}


NAMES = ["compose.yaml", "deploy.yml", "Dockerfile", "README.md", "serve.py", "run.sh"]
PIECES = """services:|containers:|- |  |image: vllm/vllm-openai:v0.25.1|command: |vllm serve m |```bash|LLM(model='m')
from vllm import LLM|CMD [|ENV A=1|FROM x|"|'|{|}|*a|&a |$(|| |<<EOF|#|;""".replace("\n", "|").split("|")
PIECES += ["\n", "\\\n", "\n", "|\n"]


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(NAMES), st.lists(st.one_of(st.sampled_from(PIECES), st.text(max_size=6)), max_size=14))
def test_any_file_is_read_or_refused(name: str, pieces: list[str]) -> None:
    text = "".join(pieces)
    for reader in READERS:
        if reader.takes(name, text):
            try:
                launches = reader.launches(text)
            except UnreadableError:
                continue
            assert all(launch.line >= 1 and launch.column >= 1 for launch in launches)


def test_nothing_in_a_file_is_run(tmp_path: Path) -> None:
    target = tmp_path / "made"
    code = f"from vllm import LLM\nopen({str(target)!r}, 'w')\nLLM(model=open({str(target)!r}, 'w').name)\n"
    read("a.py", code)
    read("a.sh", f"touch {target}; X=$(touch {target}) vllm serve m\n")
    read("a.md", f"```python\n{code}```\n")
    assert not target.exists()
