"""Parts of YAML files that are not written out: they leave the answer open, and are never refused by their names."""

from __future__ import annotations

from pathlib import Path
from textwrap import indent

import pytest

from compatcheck.launch.scan import FileScan, ScanOptions, scan_text
from compatcheck.matrix.load import LoadedMatrix
from compatcheck.resolve.configuration import Configuration

GIVEN = Configuration(sm="9.0", engine_version="0.33.0", flashinfer_version="0.7.2.post1")
POD = """\
apiVersion: v1
kind: Pod
spec:
  containers:
  - image: vllm/vllm-openai:v0.33.0
"""
COMPOSE = "services:\n  a:\n    image: vllm/vllm-openai:v0.33.0\n"
RAY = """\
applications:
- args:
    llm_configs:
    - model_loading_config: {model_id: Qwen/Qwen3-8B}
"""
KWARGS = f"{RAY}      engine_kwargs: {{attention_backend: FLASHINFER}}\n"
SERVICE = "apiVersion: ray.io/v1\nkind: RayService\nspec:\n  serveConfigV2: |\n" + indent(KWARGS, "    ")
WORKERS = """\
  rayClusterConfig:
    workerGroupSpecs:
    - template:
        spec:
          containers:
          - env: [{name: VLLM_BATCH_INVARIANT, value: '1'}]
"""
KSERVE = """\
apiVersion: serving.kserve.io/v1alpha1
kind: LLMInferenceService
spec:
  model: {uri: hf://Qwen/Qwen3-8B}
  template:
    containers:
    - name: main
"""
SERVED = """\
apiVersion: serving.kserve.io/v1beta1
kind: InferenceService
spec:
  predictor:
    model:
      modelFormat: {name: vLLM}
      storageUri: hf://Qwen/Qwen3-8B
"""
VALUES = """\
modelArtifacts: {uri: hf://Qwen/Qwen3-8B}
decode:
  containers:
  - modelCommand: vllmServe
    image: ghcr.io/llm-d/llm-d-cuda:v0.4.0
"""
STACK = """\
servingEngineSpec:
  modelSpec:
  - modelURL: Qwen/Qwen3-8B
    repository: vllm/vllm-openai
    tag: v0.33.0
"""
WORKFLOW = "jobs:\n  a:\n    steps:\n"
SHELL = "    command: [bash, -c]\n"
QWEN = "    command: --model Qwen/Qwen3-8B\n"
JOB = "jobs:\n  a:\n    env: {KV: nvfp4}\n"
MODEL = '    args: ["--model", "Qwen/Qwen3-8B"'
SERVE = "vllm serve Qwen/Qwen3-8B"


@pytest.fixture(autouse=True)
def no_model_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HOME", "/nonexistent")
    monkeypatch.delenv("HF_HUB_CACHE", raising=False)


def scan(loaded: LoadedMatrix, file: str, text: str, directory: Path | None = None) -> FileScan:
    options = ScanOptions(given=GIVEN, strict=True)
    return scan_text(loaded, file, text, options, str(directory) if directory else None)


@pytest.mark.parametrize(
    ("file", "text", "missing"),
    [
        (
            "pod.yaml",
            f"{POD}    command: [vllm, serve, Qwen/Qwen3-8B]\n    args: {{{{ toYaml .Values.args }}}}\n",
            "args {{ toYaml .Values.args }}",
        ),
        ("pod.yaml", f"{POD}{MODEL}]\n    env: {{{{ toYaml .Values.env }}}}\n", "env {{ toYaml .Values.env }}"),
        ("pod.yaml", f"{POD}{MODEL}]\n    env: [{{{{ toYaml .Values.env }}}}]\n", "env {{ toYaml .Values.env }}"),
        (
            "pod.yaml",
            f"{POD}{MODEL}]\n    env:\n    - {{name: '{{{{ .Values.name }}}}', value: x}}\n",
            "env {{ .Values.name }}",
        ),
        (
            "pod.yaml",
            f"{POD}{MODEL}]\n    envFrom: [{{{{ toYaml .Values.from }}}}]\n",
            "envFrom {{ toYaml .Values.from }}",
        ),
        ("pod.yaml", f"{POD}{MODEL}]\n    command: {{{{ .Values.command }}}}\n", "command {{ .Values.command }}"),
        ("compose.yaml", f"{COMPOSE}    command: ${{ARGS}}\n", "command ${ARGS}"),
        ("compose.yaml", f"{COMPOSE}{QWEN}    environment: ${{ENVIRONMENT}}\n", "environment ${ENVIRONMENT}"),
        ("compose.yaml", f"{COMPOSE}{QWEN}    extends: {{file: x.yml, service: b}}\n", "the service b of x.yml"),
        ("compose.yaml", f"{COMPOSE}{QWEN}    extends: gone\n", "the service gone"),
        ("serve.yaml", f"{RAY}      engine_kwargs: ${{KW}}\n", "engine_kwargs ${KW}"),
        ("serve.yaml", f"{RAY}      engine_kwargs: [a, b]\n", "engine_kwargs"),
        ("serve.yaml", f"{RAY}      runtime_env: env.yaml\n", "runtime_env env.yaml"),
        ("serve.yaml", f"{RAY}      runtime_env: {{env_vars: $VARS}}\n", "env_vars of runtime_env $VARS"),
        ("serve.yaml", f"{RAY}  runtime_env: env.yaml\n", "runtime_env env.yaml"),
        (
            "serve.yaml",
            f"{RAY}  deployments: [{{name: x, ray_actor_options: {{runtime_env: e.yaml}}}}]\n",
            "runtime_env e.yaml",
        ),
        (
            "serve.yaml",
            f"{RAY}      deployment_config: {{ray_actor_options: {{runtime_env: e.yaml}}}}\n",
            "runtime_env e.yaml",
        ),
        (
            "isvc.yaml",
            f"{KSERVE}      env: [{{name: VLLM_ADDITIONAL_ARGS, valueFrom: {{configMapKeyRef: {{name: a}}}}}}]\n",
            "VLLM_ADDITIONAL_ARGS",
        ),
        ("isvc.yaml", f"{KSERVE}      env: {{{{ .Values.env }}}}\n", "env {{ .Values.env }}"),
        ("isvc.yaml", f"{KSERVE}  baseRefs: [{{name: mine}}]\n", "the base mine"),
        ("values.yaml", f"{VALUES}    args: {{{{ .Values.args }}}}\n", "args {{ .Values.args }}"),
        ("values.yaml", f"{VALUES}    env: ${{ENV}}\n", "env ${ENV}"),
        (
            "values.yaml",
            f"{STACK}    vllmConfig: {{extraArgs: '{{{{ .Values.args }}}}'}}\n",
            "extraArgs {{ .Values.args }}",
        ),
        ("values.yaml", f"{STACK}    vllmConfig: {{{{ .Values.config }}}}\n", "vllmConfig {{ .Values.config }}"),
        ("values.yaml", f"{STACK}    env: {{{{ .Values.env }}}}\n", "env {{ .Values.env }}"),
        (
            "values.yaml",
            f"{STACK}  configs: {{{{ .Values.configs }}}}\n",
            "servingEngineSpec.configs {{ .Values.configs }}",
        ),
        ("ci.yaml", f"job: {{script: [{SERVE}], extends: .gone}}\n", "the job .gone"),
        ("ci.yaml", f"job: {{script: [!reference [.gone, script], {SERVE}]}}\n", "the job .gone script"),
        ("job.yaml", f"kind: RayJob\nentrypoint: {SERVE}\nruntimeEnvYAML: file.yaml\n", "runtimeEnvYAML"),
        ("play.yaml", f"- environment: '{{{{ proxy }}}}'\n  tasks: [{{shell: {SERVE}}}]\n", "environment {{ proxy }}"),
        ("isvc.yaml", f"{SERVED}      runtime: mine\n", "the runtime mine"),
        ("ci.yaml", f"variables: [{{group: shared}}]\nsteps: [{{script: {SERVE}}}]\n", "variables group shared"),
    ],
)
def test_a_part_that_is_elsewhere(file: str, text: str, missing: str, loaded: LoadedMatrix) -> None:
    found = scan(loaded, file, text)
    assert [one.verdict for one in found.launches] == ["unknown"]
    (told,) = found.diagnostics
    assert f"what {missing} holds" in told.message


OPEN = [
    *("{{ .Values.kv }}", "{{kv}}", "${{ matrix.kv }}", "{kv}", "%(kv)s"),
    *("$(KV)", "${KV}", "${KV:?none}", "${var.kv}", "<dtype>"),
    *("$[[ inputs.kv ]]", "$[variables.kv]", "<< parameters.kv >>", "((kv))", "#{kv}#", "__KV__", "@KV@", "%env.KV%"),
]


@pytest.mark.parametrize("value", OPEN)
@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("pod.yaml", POD + MODEL + ', "--kv-cache-dtype", "%s"]\n'),
        ("pod.yaml", POD + MODEL + ', "--kv-cache-dtype=%s"]\n'),
        ("pod.yaml", POD + f'    command: [bash, -c]\n    args: ["{SERVE} --kv-cache-dtype %s"]\n'),
        (
            "compose.yaml",
            COMPOSE + "    command: >-\n      --model Qwen/Qwen3-8B --kv-cache-dtype %s\n      --seed 1\n",
        ),
        ("compose.yaml", COMPOSE + "    command: [--model, Qwen/Qwen3-8B, --kv-cache-dtype, '%s']\n"),
        ("serve.yaml", RAY + "      engine_kwargs: {kv_cache_dtype: '%s'}\n"),
        ("wf.yaml", WORKFLOW + f"    - run: |\n        {SERVE} --kv-cache-dtype %s --seed 1\n"),
        ("wf.yaml", WORKFLOW + f"    - run: {SERVE} --kv-cache-dtype ${{KV:-fp8}}\n      env: {{KV: '%s'}}\n"),
        ("values.yaml", VALUES + "    args: [--kv-cache-dtype, '%s']\n"),
        ("values.yaml", STACK + "    vllmConfig: {extraArgs: [--kv-cache-dtype, '%s']}\n"),
    ],
)
def test_a_value_that_is_filled_in_later(file: str, text: str, value: str, loaded: LoadedMatrix) -> None:
    found = scan(loaded, file, text.replace("%s", value))
    assert [(one.model, one.verdict) for one in found.launches] == [("Qwen/Qwen3-8B", "unknown")]
    assert [(d.code, "kv_cache_dtype" in d.message) for d in found.diagnostics] == [("unknown", True)]


@pytest.mark.parametrize("value", ["${KV}", "{{ kv }}", "<dtype>"])
def test_a_value_in_a_configuration_file(value: str, loaded: LoadedMatrix, tmp_path: Path) -> None:
    (tmp_path / "serve.yaml").write_text(f"model: Qwen/Qwen3-8B\nkv-cache-dtype: '{value}'\n", "utf-8")
    found = scan(loaded, "run.sh", "vllm serve --config serve.yaml\n", tmp_path)
    assert [(one.model, one.verdict) for one in found.launches] == [("Qwen/Qwen3-8B", "unknown")]
    assert [d.code for d in found.diagnostics] == ["unknown"]


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("compose.yaml", COMPOSE + "    command: --model ${M:-Qwen/Qwen3-8B} --kv-cache-dtype ${KV-nvfp4}\n"),
        ("compose.yaml", COMPOSE + "    command: --model Qwen/Qwen3-8B --kv-cache-dtype ${KV:-${KV_CACHE:-nvfp4}}\n"),
        (
            "compose.yaml",
            COMPOSE + f"    entrypoint: [bash, -c]\n    command: ['KV=nvfp4; {SERVE} --kv-cache-dtype $${{KV}}']\n",
        ),
        ("compose.yaml", "x-a: &a [--model, Qwen/Qwen3-8B, --kv-cache-dtype, nvfp4]\n" + COMPOSE + "    command: *a\n"),
        (
            "pod.yaml",
            POD + MODEL + ', "--kv-cache-dtype=$(KV)"]\n    env: [{name: A, value: nvfp4}, {name: KV, value: $(A)}]\n',
        ),
        (
            "pod.yaml",
            f"{POD}    env: [{{name: K, value: nvfp4}}]\n{SHELL}    args: ['{SERVE} --kv-cache-dtype ${{K:-a}}']\n",
        ),
        ("serve.yaml", "x: &x {kv_cache_dtype: nvfp4}\n" + RAY + "      engine_kwargs: {<<: *x}\n"),
        ("wf.yaml", "env: {KV: nvfp4}\n" + WORKFLOW + f"    - run: {SERVE} --kv-cache-dtype $KV\n"),
        (
            "wf.yaml",
            f"env: {{KV: auto}}\n{JOB}    steps:\n    - run: {SERVE} --kv-cache-dtype ${{{{ env.KV }}}}\n",
        ),
        ("wf.yaml", WORKFLOW + f"    - run: {SERVE} --kv-cache-dtype $KV\n      env: {{KV: nvfp4}}\n"),
        (
            "ci.yml",
            f"variables: {{KV: {{value: nvfp4, description: x}}}}\njob: {{script: [{SERVE} --kv-cache-dtype $KV]}}\n",
        ),
        ("ci.yml", f"job: {{before_script: [export KV=nvfp4], script: [echo, '{SERVE} --kv-cache-dtype $KV']}}\n"),
        ("task.yaml", f"envs: {{KV: nvfp4}}\nrun: |\n  {SERVE} --kv-cache-dtype $KV\n"),
        ("app.dstack.yml", f"env: [KV=nvfp4]\ncommands: [cd /, {SERVE} --kv-cache-dtype $KV]\n"),
    ],
)
def test_a_value_that_the_file_says_is_taken(file: str, text: str, loaded: LoadedMatrix) -> None:
    (launch,) = scan(loaded, file, text).launches
    assert (launch.model, launch.kv_cache_dtype) == ("Qwen/Qwen3-8B", "nvfp4")


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("compose.yaml", COMPOSE + QWEN + "    environment: [VLLM_BATCH_INVARIANT]\n"),
        ("compose.yaml", COMPOSE + QWEN + "    environment: {VLLM_BATCH_INVARIANT: }\n"),
        ("serve.yaml", RAY + "  runtime_env: {env_vars: {VLLM_BATCH_INVARIANT: $X}}\n"),
        (
            "serve.yaml",
            RAY + "  deployments: [{ray_actor_options: {runtime_env: {env_vars: {VLLM_BATCH_INVARIANT: 1}}}}]\n",
        ),
        ("wf.yaml", f'{WORKFLOW}    - run: echo "VLLM_BATCH_INVARIANT=1" >> $GITHUB_ENV\n    - run: {SERVE}\n'),
        ("wf.yaml", "env: {VLLM_BATCH_INVARIANT: '${{ inputs.x }}'}\n" + f"{WORKFLOW}    - run: {SERVE}\n"),
    ],
)
def test_a_variable_that_may_be_set(file: str, text: str, loaded: LoadedMatrix) -> None:
    found = scan(loaded, file, text)
    assert [one.verdict for one in found.launches] == ["unknown"]
    assert "VLLM_BATCH_INVARIANT" in found.diagnostics[-1].message


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("serve.yaml", f"{KWARGS}  runtime_env: {{env_vars: {{VLLM_BATCH_INVARIANT: 1}}}}\n"),
        (
            "values.yaml",
            STACK + "    vllmConfig: {extraArgs: [-ac.backend=FLASHINFER]}\n  configs: {VLLM_BATCH_INVARIANT: '1'}\n",
        ),
        (
            "wf.yaml",
            "env: {VLLM_BATCH_INVARIANT: 1}\n" + f"{WORKFLOW}    - run: {SERVE} --attention-backend FLASHINFER\n",
        ),
        ("rayservice.yaml", SERVICE + WORKERS),
    ],
)
def test_a_variable_of_what_stands_around(file: str, text: str, loaded: LoadedMatrix) -> None:
    assert [one.verdict for one in scan(loaded, file, text.replace("BATCH_INVARIANT", "X")).launches] == ["supported"]
    found = scan(loaded, file, text)
    assert [d.code for d in found.diagnostics] == ["selector-use-batch-invariant"]
    line = next(i for i, line in enumerate(text.splitlines(), 1) if "BATCH_INVARIANT" in line)
    assert [d.line for d in found.diagnostics] == [line]


def test_a_block_of_a_template_is_there_or_not(loaded: LoadedMatrix) -> None:
    options = "--kv-cache-dtype nvfp4 --attention-backend TRITON_ATTN"
    block = f"        {{{{- if .Values.kv }}}}\n        {options} \\\n        {{{{- end }}}}\n"
    script = f"{POD}    command: [bash, -c]\n    args:\n    - |\n      {SERVE} \\\n{block}        --seed 1 --dtype %s\n"
    found = scan(loaded, "pod.yaml", script.replace("%s", "half"))
    assert [one.verdict for one in found.launches] == ["unknown"]
    assert ["{{- if .Values.kv }}" in d.message for d in found.diagnostics] == [True]
    wrong = scan(loaded, "pod.yaml", script.replace("%s", "nothing")).diagnostics
    assert [(d.code, d.line, d.column) for d in wrong] == [("launch-bad-choice", 13, 26)]
    whole = (
        f"{POD}    command: [bash, -c]\n    args:\n    - |\n      {{{{ if .x }}}}\n      {SERVE}\n      {{{{ end }}}}\n"
    )
    assert [one.verdict for one in scan(loaded, "pod.yaml", whole).launches] == ["supported"]


@pytest.mark.parametrize(
    ("service", "named"),
    [
        ("    command: [--model, Qwen/Qwen3-8B, '${MORE:-}']\n", "what ${MORE:-} stands for"),
        (f"{QWEN}    environment: {{VLLM_BATCH_INVARIANT: '${{ON:-}}'}}\n", "VLLM_BATCH_INVARIANT"),
        (f"{QWEN}    environment: ['VLLM_BATCH_INVARIANT=${{ON:-}}']\n", "VLLM_BATCH_INVARIANT"),
    ],
)
def test_an_empty_default_is_there_to_be_set(service: str, named: str, loaded: LoadedMatrix) -> None:
    diagnostics = scan(loaded, "compose.yaml", COMPOSE + service).diagnostics
    assert [(d.code, d.message) for d in diagnostics] == [("unknown", f"The verdict is unknown: {named}.")]
