"""KServe's services: the model of storageUri, the options of the service and those of its runtime."""

from __future__ import annotations

import pytest

from compatcheck.launch.files.registry import reader_for
from compatcheck.launch.model import Launch
from compatcheck.launch.scan import ScanOptions, scan_text
from compatcheck.matrix.load import LoadedMatrix

SERVICE = """\
apiVersion: serving.kserve.io/v1beta1
kind: InferenceService
metadata: {name: granite}
spec:
  predictor:
    nodeSelector: {nvidia.com/gpu.product: NVIDIA-H200}
    model:
      modelFormat: {name: %s}
      %s
      storageUri: %s
      args: [%s]
"""
RUNTIME = """\
---
apiVersion: serving.kserve.io/v1alpha1
kind: ServingRuntime
metadata: {name: vllm-runtime}
spec:
  supportedModelFormats: [{name: vLLM, autoSelect: true}]
  containers:
  - name: kserve-container
    image: vllm/vllm-openai:v0.25.1
    command: [python, -m, vllm.entrypoints.openai.api_server]
    args: ["--port=8080", "--model=/mnt/models"]
    env: [{name: VLLM_LOGGING_LEVEL, value: INFO}]
"""
LLM_SERVICE = """\
apiVersion: serving.kserve.io/v1alpha1
kind: LLMInferenceService
metadata: {name: qwen3}
spec:
  model: {uri: %s, name: Qwen/Qwen3-32B}
  template:
    nodeSelector: {nvidia.com/gpu.product: NVIDIA-H200}
    containers:
    - name: main
      image: ghcr.io/llm-d/llm-d-cuda:v0.5.0
      env:
      - name: VLLM_ADDITIONAL_ARGS
        value: "--attention-backend TRITON_ATTN --kv-cache-dtype nvfp4"
      - {name: VLLM_LOGGING_LEVEL, value: DEBUG}
    - name: sidecar
      image: busybox
"""


def read(text: str) -> list[Launch]:
    reader = reader_for("isvc.yaml", text)
    assert reader is not None
    return reader.launches(text)


def service(format_: str, args: str, uri: str = "hf://Qwen/Qwen3-8B", runtime: str = "") -> str:
    return SERVICE % (format_, f"runtime: {runtime}" if runtime else "name: x", uri, args)


def words(launch: Launch) -> list[str]:
    return [word.text for word in launch.words]


@pytest.mark.parametrize("format_", ["vLLM", "vllm"])
def test_a_service_alone(format_: str) -> None:
    (launch,) = read(service(format_, "--kv-cache-dtype=nvfp4"))
    assert words(launch) == ["--model", "Qwen/Qwen3-8B", "--kv-cache-dtype=nvfp4"]
    assert (launch.words[-1].line, launch.words[-1].column) == (11, 14)
    assert launch.gpu is not None
    assert launch.gpu.text == "NVIDIA-H200"
    assert launch.image is None


def test_a_service_with_its_runtime() -> None:
    text = service("vLLM", "--kv-cache-dtype=nvfp4", runtime="vllm-runtime") + RUNTIME
    (merged,) = read(text)
    assert words(merged) == ["--port=8080", "--model=Qwen/Qwen3-8B", "--kv-cache-dtype=nvfp4"]
    assert merged.image is not None
    assert merged.environment.keys() == {"VLLM_LOGGING_LEVEL"}
    assert merged.line == 8
    (alone,) = read(RUNTIME)
    assert "--model=/mnt/models" in words(alone)
    kept = read(service("vLLM", "--seed=1", "s3://bucket/x", "vllm-runtime") + RUNTIME)[0]
    assert "--model=/mnt/models" in words(kept)
    other, unused = read(service("vLLM", "--seed=1", runtime="another") + RUNTIME)
    assert words(other) == ["--model", "Qwen/Qwen3-8B", "--seed=1"]
    assert [word.text for word in other.elsewhere] == ["the runtime another"]
    assert unused.line > other.line


def test_kserves_own_server() -> None:
    args = '"--model_name=llama3", "--model_id=org/model", "--backend=vllm", "--kv-cache-dtype=fp8_e5m2"'
    (launch,) = read(service("huggingface", args))
    assert (launch.program, "--model=org/model" in words(launch)) == ("huggingfaceserver", True)
    assert words(read(service("huggingface", "--max-model-len=8192"))[0])[:2] == ["--model", "Qwen/Qwen3-8B"]


def test_its_own_options_are_no_mistakes(loaded: LoadedMatrix, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HOME", "/nonexistent")
    args = '"--model_name=q", "--model_id=Qwen/Qwen3-8B", "--attention-backend=TRITON_ATTN", "--kv-cache-dtype=nvfp4"'
    scan = scan_text(loaded, "isvc.yaml", service("huggingface", args), ScanOptions(), None)
    assert [d.code for d in scan.diagnostics] == ["selector-kv-cache-dtype"]


@pytest.mark.parametrize(
    "text",
    [
        service("sklearn", "--kv-cache-dtype=nvfp4"),
        service("huggingface", "--backend=huggingface"),
        service("triton", "--x"),
        "apiVersion: v1\nkind: Service\nspec: {model: vllm}\n",
    ],
)
def test_what_vllm_does_not_serve(text: str) -> None:
    assert not read(text)


def test_an_llm_service_takes_options_from_a_variable() -> None:
    (launch,) = read(LLM_SERVICE % "hf://Qwen/Qwen3-32B")
    assert words(launch) == ["Qwen/Qwen3-32B", "--attention-backend", "TRITON_ATTN", "--kv-cache-dtype", "nvfp4"]
    assert (launch.words[1].line, launch.words[1].column) == (13, 17)
    assert launch.environment.keys() == {"VLLM_LOGGING_LEVEL"}
    assert words(read(LLM_SERVICE % "s3://bucket/x")[0])[0] == "Qwen/Qwen3-32B"


WHOLE = """\
apiVersion: serving.kserve.io/v1alpha2
kind: LLMInferenceService
spec:
  model: {uri: hf://Qwen/Qwen3-32B}
  speculator:
    model: {uri: hf://org/draft}
    config: {method: eagle3, num_speculative_tokens: "6"}
  parallelism: {tensor: 2}
  router: {scheduler: {template: {containers: [{name: main, image: x/scheduler, args: [--pool-name, y]}]}}}
  prefill:
    parallelism: {tensor: 4}
    template: {containers: [{name: main, args: [--seed=1]}]}
"""


def test_what_an_llm_service_says_beside_its_containers() -> None:
    decode, prefill = read(WHOLE)
    drafted = ["--speculative-config", '{"method": "eagle3", "num_speculative_tokens": 6, "model": "org/draft"}']
    assert words(decode) == ["Qwen/Qwen3-32B", "--tensor-parallel-size", "2", *drafted]
    assert words(prefill) == ["Qwen/Qwen3-32B", "--tensor-parallel-size", "4", *drafted, "--seed=1"]
    assert not read(WHOLE.replace("spec:\n", "spec:\n  runtime: kserve-llm-sglang\n"))
    named = read(WHOLE.replace("spec:\n", "spec:\n  runtime: mine\n"))
    assert [[word.text for word in one.elsewhere] for one in named] == [["the runtime mine"]] * 2
    open_ = read(WHOLE.replace("eagle3", "'${METHOD}'"))[0]
    assert [word.dynamic for word in open_.words] == [False] * 4 + [True]
