"""Values of vLLM's production stack."""

from __future__ import annotations

import pytest

from compatcheck.launch.files.registry import reader_for
from compatcheck.launch.model import Launch
from compatcheck.launch.scan import ScanOptions, scan_text
from compatcheck.matrix.load import LoadedMatrix

VALUES = """\
servingEngineSpec:
  runtimeClassName: ""
  modelSpec:
  - name: llama3
    repository: vllm/vllm-openai
    tag: v0.26.0
    modelURL: meta-llama/Llama-3.1-8B-Instruct
    vllmConfig:
      enablePrefixCaching: false
      dtype: bfloat16
      tensorParallelSize: 2
      extraArgs: ["--kv-cache-dtype", "nvfp4"]
    env: [{name: VLLM_LOGGING_LEVEL, value: INFO}]
    lmcacheConfig: {enabled: true}
    nodeSelectorTerms:
    - matchExpressions:
      - {key: nvidia.com/gpu.product, operator: In, values: [NVIDIA-A100-SXM4-80GB]}
  - name: no-model
    repository: busybox
routerSpec: {repository: router}
"""


def read(text: str) -> list[Launch]:
    reader = reader_for("values.yaml", text)
    assert reader is not None
    assert reader.name == "production-stack"
    return reader.launches(text)


def test_one_launch_for_each_model() -> None:
    (launch,) = read(VALUES)
    assert [word.text for word in launch.words[:7]] == [
        *("meta-llama/Llama-3.1-8B-Instruct", "--dtype", "bfloat16", "--tensor-parallel-size", "2"),
        *("--kv-cache-dtype", "nvfp4"),
    ]
    assert launch.words[-2].text == "--kv-transfer-config"
    assert launch.image is not None
    assert (launch.image.text, launch.image.line) == ("vllm/vllm-openai:v0.26.0", 6)
    assert launch.gpu is not None
    assert launch.environment.keys() == {"VLLM_LOGGING_LEVEL"}


def test_a_stack_without_engines_starts_none() -> None:
    assert not read(VALUES.replace('runtimeClassName: ""', "enableEngine: false"))


def test_it_is_judged(loaded: LoadedMatrix, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HOME", "/nonexistent")
    scan = scan_text(loaded, "values.yaml", VALUES, ScanOptions(), None)
    assert [(one.engine_version, one.sm) for one in scan.launches] == [("0.26.0", "8.0")]
    assert {(d.code, d.line) for d in scan.diagnostics} == {("no-valid-backend", 12)}


def test_in_markdown_too() -> None:
    text = f"# Values\n\n```yaml\n{VALUES}```\n"
    reader = reader_for("README.md", text)
    assert reader is not None
    assert [launch.line for launch in reader.launches(text)] == [7]
