"""Which launches a YAML file has: documents of several kinds in one file, files inside manifests, jobs with bases."""

from __future__ import annotations

import json
import re
import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compatcheck.launch.files.reader import UnreadableError
from compatcheck.launch.files.registry import READERS, reader_for
from compatcheck.launch.scan import ScanOptions, scan_text
from compatcheck.matrix.load import LoadedMatrix
from compatcheck.resolve.configuration import Configuration

DEPLOYMENT = """\
apiVersion: apps/v1
kind: Deployment
spec:
  template:
    spec:
      containers:
      - image: vllm/vllm-openai:v0.33.0
        args: [--model, Qwen/Qwen3-8B, --kv-cache-dtype, fp8]
"""
RAY_SERVICE = """\
apiVersion: ray.io/v1
kind: RayService
spec:
  serveConfigV2: %s
    applications: [{args: {llm_configs: [{model_loading_config: {model_id: Qwen/Qwen3-8B},
      engine_kwargs: {kv_cache_dtype: nvfp4}}]}}]
"""
APPLICATION = """\
applications:
- args: {llm_configs: [{model_loading_config: {model_id: Qwen/Qwen3-8B}, engine_kwargs: {kv_cache_dtype: nvfp4}}]}
"""
KSERVE = """\
apiVersion: serving.kserve.io/v1beta1
kind: InferenceService
spec:
  predictor:
    model:
      modelFormat: {name: huggingface}
      args: [--model_id=Qwen/Qwen3-8B, --kv-cache-dtype=fp8]
"""
RUNTIME = """\
apiVersion: serving.kserve.io/v1alpha1
kind: ClusterServingRuntime
metadata: {name: own}
spec:
  supportedModelFormats: [{name: huggingface}]
  containers: [{image: "kserve/huggingfaceserver:v0.15.0-gpu", args: ["--model_name={{.Name}}"]}]
"""
LLM_SERVICE = """\
apiVersion: serving.kserve.io/v1alpha1
kind: LLMInferenceService
spec: {model: {uri: hf://Qwen/Qwen3-8B}, replicas: 1}
"""
JSON = (
    '{"modelArtifacts": {"uri": "hf://Qwen/Qwen3-8B"}, "decode": {"containers": [{"modelCommand": "vllmServe", '
    '"args": ["--kv-cache-dtype", "nvfp4"]}]}}'
)
MAP = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata:\n"
FILES = f"""\
{MAP}  run.sh: |
    KV=fp8
    vllm serve Qwen/Qwen3-8B --kv-cache-dtype $KV
  app.py: |
    from vllm import LLM
    LLM("Qwen/Qwen3-8B", kv_cache_dtype="nvfp4")
  serve.yaml: |
    model_loading_config: {{model_id: Qwen/Qwen3-8B}}
  script: |
    vllm serve Qwen/Qwen3-8B --seed 1
"""
FROM_MAP = f"""\
{MAP}  KV: nvfp4
---
apiVersion: v1
kind: Pod
spec:
  containers:
  - image: vllm/vllm-openai:v0.33.0
    args: [--model, Qwen/Qwen3-8B, --kv-cache-dtype, $(KV)]
    %s
"""
STACK = (
    "servingEngineSpec: {modelSpec: [{modelURL: Qwen/Qwen3-8B, vllmConfig: {extraArgs: [--kv-cache-dtype, nvfp4]}}]}"
)
RELEASE = f"apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nspec:\n  values:\n    {STACK}\n"
ARGO_CD = f"apiVersion: argoproj.io/v1alpha1\nkind: Application\nspec:\n  helm:\n    values: |\n      {STACK}\n"
ARGO = """\
apiVersion: argoproj.io/v1alpha1
kind: Workflow
metadata: {annotations: {was: "vllm serve Qwen/Qwen3-8B --none"}}
spec:
  templates:
  - container: {image: x/vllm, command: [vllm, serve], args: [Qwen/Qwen3-8B, --kv-cache-dtype, nvfp4]}
  - script: {image: x, source: "vllm serve Qwen/Qwen3-8B --kv-cache-dtype fp8"}
"""
GITLAB = """\
default: {before_script: [export KV=fp8]}
.base:
  variables: {SEED: 1}
  script: ["vllm serve Qwen/Qwen3-8B --kv-cache-dtype $KV --seed $SEED --port $PORT"]
one: {extends: .base, variables: {PORT: 1}}
two: {extends: [.base], script: [vllm serve Qwen/Qwen3-8B --kv-cache-dtype nvfp4]}
"""
ANCHORS = """\
x-base: &base {model_loading_config: {model_id: Qwen/Qwen3-8B}, engine_kwargs: {kv_cache_dtype: fp8}}
x-other: &other {model_loading_config: {model_id: Qwen/Qwen3-8B}}
llm_configs:
- <<: *base
  engine_kwargs: {kv_cache_dtype: nvfp4}
- *other
"""
COMPOSE = """\
services:
  base: {image: "vllm/vllm-openai:v0.33.0", command: [--model, Qwen/Qwen3-8B], environment: {A: 1}}
  other: {extends: {service: base}, command: [--model, Qwen/Qwen3-8B, --kv-cache-dtype, nvfp4]}
"""
CHART = "image: {repository: vllm/vllm-openai, tag: v0.33.0}\nargs: [--model, Qwen/Qwen3-8B, --kv-cache-dtype, nvfp4]\n"
REFERENCES = """\
.script: &script [export KV=nvfp4]
.other: {script: [export SEED=1]}
job:
  script:
  - *script
  - !reference [.other, script]
  - vllm serve Qwen/Qwen3-8B --kv-cache-dtype $KV --seed $SEED
"""
WORKFLOW = """\
name: vllm serve a smoke test
jobs:
  a:
    name: vllm serve it now
    services: {vllm: {image: "vllm/vllm-openai:v0.33.0", command: --model Qwen/Qwen3-8B --kv-cache-dtype fp8}}
    steps:
    - {name: vllm serve the model, run: vllm serve Qwen/Qwen3-8B --kv-cache-dtype nvfp4}
"""
LIST = """\
apiVersion: v1
kind: List
items:
- {kind: ConfigMap, metadata: {name: c}, data: {KV: nvfp4}}
- kind: Pod
  spec:
    containers:
    - image: vllm/vllm-openai:v0.33.0
      args: [--model, Qwen/Qwen3-8B, --kv-cache-dtype, $(KV)]
      envFrom: [{configMapRef: {name: c}}]
"""
TEKTON = """\
apiVersion: tekton.dev/v1
kind: Task
spec:
  stepTemplate: {env: [{name: KV, value: nvfp4}]}
  steps: [{image: x, script: vllm serve Qwen/Qwen3-8B --kv-cache-dtype $KV}]
"""
RAY_JOB = """\
apiVersion: ray.io/v1
kind: RayJob
spec:
  entrypoint: vllm serve Qwen/Qwen3-8B --kv-cache-dtype $KV
  runtimeEnvYAML: |
    env_vars: {KV: nvfp4}
"""
ANSIBLE = "- hosts: x\n  tasks:\n  - command: {argv: [vllm, serve, Qwen/Qwen3-8B, --kv-cache-dtype, nvfp4]}\n"
BUILD = "steps: [{name: x, entrypoint: bash, args: [-c, 'KV=fp8; vllm serve Qwen/Qwen3-8B --kv-cache-dtype $$KV']}]\n"
NOT_CREATED = """\
modelArtifacts: {uri: hf://Qwen/Qwen3-8B}
decode: {containers: [{modelCommand: vllmServe, args: [--kv-cache-dtype, fp8]}]}
prefill: {create: false, containers: [{modelCommand: vllmServe, args: [--kv-cache-dtype, nvfp4]}]}
"""


@pytest.fixture(autouse=True)
def no_model_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HOME", "/nonexistent")
    monkeypatch.delenv("HF_HUB_CACHE", raising=False)


@pytest.mark.parametrize(
    ("file", "text", "launches"),
    [
        ("all.yaml", f"{RAY_SERVICE % '|'}---\n{DEPLOYMENT}", [(5, "nvfp4"), (15, "fp8")]),
        ("ray.yaml", RAY_SERVICE % ">", [(4, "nvfp4")]),
        ("all.yaml", f"{APPLICATION}---\n{DEPLOYMENT}", [(2, "nvfp4"), (11, "fp8")]),
        ("anchors.yaml", ANCHORS, [(2, "auto"), (4, "nvfp4")]),
        ("isvc.yaml", KSERVE, [(6, "fp8")]),
        ("isvc.yaml", KSERVE.replace(", --kv-cache-dtype=fp8", ""), [(6, "auto")]),
        ("values.yaml", JSON, [(1, "nvfp4")]),
        ("isvc.yaml", f"{KSERVE}---\n{RUNTIME}", [(6, "fp8")]),
        ("isvc.yaml", LLM_SERVICE, [(3, "auto")]),
        ("map.yaml", FILES, [(7, "fp8"), (10, "nvfp4"), (12, "auto"), (14, "auto")]),
        ("pod.yaml", FROM_MAP % "envFrom: [{configMapRef: {name: c}}]", [(12, "nvfp4")]),
        ("pod.yaml", FROM_MAP % "env: [{name: KV, valueFrom: {configMapKeyRef: {name: c, key: KV}}}]", [(12, "nvfp4")]),
        ("release.yaml", RELEASE, [(5, "nvfp4")]),
        ("app.yaml", ARGO_CD, [(6, "nvfp4")]),
        ("workflow.yaml", ARGO, [(6, "nvfp4"), (7, "fp8")]),
        (".gitlab-ci.yml", GITLAB, [(4, "fp8"), (6, "nvfp4")]),
        ("compose.yaml", COMPOSE, [(2, "auto"), (3, "nvfp4")]),
        ("values.yaml", CHART, [(2, "nvfp4")]),
        (".gitlab-ci.yml", REFERENCES, [(7, "nvfp4")]),
        ("ci.yml", WORKFLOW, [(5, "fp8"), (7, "nvfp4")]),
        ("list.yaml", LIST, [(9, "nvfp4")]),
        ("task.yaml", TEKTON, [(5, "nvfp4")]),
        ("job.yaml", RAY_JOB, [(4, "nvfp4")]),
        ("play.yml", ANSIBLE, [(3, "nvfp4")]),
        ("cloudbuild.yaml", BUILD, [(1, "fp8")]),
        ("values.yaml", NOT_CREATED, [(2, "fp8")]),
    ],
)
def test_every_launch_is_found_once(
    file: str, text: str, launches: list[tuple[int, str]], loaded: LoadedMatrix
) -> None:
    stated = Configuration(sm="9.0", engine_version="0.33.0", flashinfer_version="0.7.2.post1")
    found = scan_text(loaded, file, text, ScanOptions(given=stated, strict=True), None)
    assert sorted((one.line, one.kv_cache_dtype) for one in found.launches) == launches
    assert {one.model for one in found.launches} == {"Qwen/Qwen3-8B"}
    assert [d.message for d in found.diagnostics] == []


def test_what_a_workers_node_is_says_the_gpu(loaded: LoadedMatrix) -> None:
    workers = "  rayClusterConfig: {workerGroupSpecs: [{template: {spec: {nodeSelector: {%s: %s}, containers: []}}}]}\n"
    text = RAY_SERVICE % "|" + workers % ("nvidia.com/gpu.product", "NVIDIA-L4")
    assert [one.sm for one in scan_text(loaded, "ray.yaml", text, ScanOptions(), None).launches] == ["8.9"]


KEYS = re.findall(
    r"\S+",
    """
apiVersion kind spec metadata name data items predictor model modelFormat runtime storageUri args command env envFrom
containers image template router prefill speculator config baseRefs parallelism tensor serveConfigV2 applications value
llm_configs model_loading_config model_id engine_kwargs runtime_env env_vars deployments ray_actor_options key operator
rayClusterConfig workerGroupSpecs accelerator_type modelArtifacts uri decode modelCommand servingEngineSpec modelSpec
modelURL vllmConfig extraArgs lmcacheConfig enabled configs services entrypoint environment env_file extends jobs steps
run script before_script variables default resources accelerators gpu image_id nodeSelector affinity nodeAffinity values
requiredDuringSchedulingIgnoredDuringExecution nodeSelectorTerms matchExpressions valueFrom configMapKeyRef repository
configMapRef supportedModelFormats stepTemplate runtimeEnvYAML nvidia.com/gpu.product job .base
""",
)
TEXTS = [
    *(
        "v1",
        "List",
        "ConfigMap",
        "InferenceService",
        "LLMInferenceService",
        "ServingRuntime",
        "RayService",
        "main",
        "a",
    ),
    *(
        "vllm/vllm-openai:v0.33.0",
        "huggingface",
        "vLLM",
        "hf://Qwen/Qwen3-8B",
        "--model",
        "vllm serve Qwen/Qwen3-8B $A",
    ),
    *("{{ a }}", "${A:-b}", "${{ env.A }}", "$(A)", "{{ if a }}\n--x\n{{ end }}", "$$A", "H100:8", "A=b", "vllmServe"),
    *("", "In", "model_loading_config: {model_id: a}\nengine_kwargs: b", "job", ".base", "nvidia.com/gpu.product"),
]
SCALARS = st.one_of(st.none(), st.booleans(), st.integers(0, 9), st.sampled_from(TEXTS))
DOCUMENTS: st.SearchStrategy[Any] = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.sampled_from(KEYS), inner, min_size=1, max_size=5)
    ),
    max_leaves=15,
)


@settings(max_examples=80, deadline=None)
@given(st.lists(st.dictionaries(st.sampled_from(KEYS), DOCUMENTS, min_size=1, max_size=5), min_size=1, max_size=3))
def test_any_document_is_read(documents: list[dict[str, Any]]) -> None:
    text = "\n---\n".join(json.dumps(document) for document in documents)
    for reader in READERS:
        if reader.takes("a.yaml", text) or reader.name in (
            "kubernetes",
            "ray-serve",
            "compose",
            "yaml",
            "llm-d-values",
        ):
            try:
                launches = reader.launches(text)
            except UnreadableError:
                continue
            assert all(launch.line >= 1 and launch.column >= 1 for launch in launches)
            assert "_filled_in_" not in repr(launches)


@pytest.mark.parametrize(
    "text",
    [
        "apiVersion: v1\nkind: Pod\nspec: {containers: [%s]}\n",
        "apiVersion: argoproj.io/v1alpha1\nkind: Workflow\nspec: {templates: [{container: %s}]}\n",
        "engine: %s\n",
    ],
)
def test_a_pods_command_is_its_entrypoint(text: str, loaded: LoadedMatrix) -> None:
    image = "{repository: vllm/vllm-openai, tag: v0.33.0}" if "engine" in text else "'vllm/vllm-openai:v0.33.0'"
    idle = text % f"{{image: {image}, command: [sleep, infinity]}}"
    assert not scan_text(loaded, "a.yaml", idle, ScanOptions(), None).launches
    served = text % f"{{image: {image}, command: [vllm, serve, Qwen/Qwen3-8B]}}"
    assert [one.model for one in scan_text(loaded, "a.yaml", served, ScanOptions(), None).launches] == ["Qwen/Qwen3-8B"]


DOUBLED = "\n".join(f"    - {{name: A{n}, value: $(A{n - 1})$(A{n - 1})}}" for n in range(1, 60))
FANNED = "\n".join(f"j{n}: {{extends: [{', '.join(f'j{k}' for k in range(n))}], script: [a]}}" for n in range(1, 30))


@pytest.mark.parametrize(
    ("file", "text"),
    [
        (
            "pod.yaml",
            (
                "apiVersion: v1\nspec:\n  containers:\n  - image: vllm/vllm-openai:v0.33.0\n    args: [--seed=$(A59)]\n"
                f"    env:\n    - {{name: A0, value: xxxxxxxx}}\n{DOUBLED}\n"
            ),
        ),
        (".gitlab-ci.yml", f"{FANNED}\nj: {{extends: j29, script: [vllm serve Qwen/Qwen3-8B]}}\n"),
        (
            ".gitlab-ci.yml",
            (
                f".a: {{script: [{', '.join(['!reference [.a, script]'] * 30)}]}}\n"
                "j: {script: [!reference [.a, script], vllm serve Qwen/Qwen3-8B]}\n"
            ),
        ),
    ],
)
def test_what_grows_with_every_reference_ends(file: str, text: str, loaded: LoadedMatrix) -> None:
    started = time.monotonic()
    assert scan_text(loaded, file, text, ScanOptions(), None).launches
    assert time.monotonic() - started < 20


def test_markdown_in_a_text() -> None:
    text = (
        "guide: |\n  # Somebody's model\n\n  It's served by `vllm serve m`:\n\n  ```bash\n  vllm serve org/a \\\n"
        "    --kv-cache-dtype fp8\n  ```\n\n  - or so:\n"
        "    ```python\n    from vllm import LLM\n    LLM('org/b')\n    ```\n"
    )
    reader = reader_for("recipe.yaml", text)
    assert reader is not None
    first, second = reader.launches(text)
    assert ([word.text for word in first.words], first.line, first.column) == (
        ["org/a", "--kv-cache-dtype", "fp8"],
        *(7, 3),
    )
    assert (second.settings[0].value, second.line, second.column) == ("org/b", 14, 5)
