"""GPUs that Slurm's directives and instance types name."""

from __future__ import annotations

import time

import pytest

from compatcheck.launch.files.instance_types import gpu_of_instance
from compatcheck.launch.files.slurm_directives import gpu_of_job
from compatcheck.launch.scan import ScanOptions, scan_text
from compatcheck.matrix.load import LoadedMatrix

SERVE = "srun vllm serve Qwen/Qwen3-8B --kv-cache-dtype nvfp4\n"


@pytest.fixture(autouse=True)
def no_model_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HOME", "/nonexistent")
    monkeypatch.delenv("HF_HUB_CACHE", raising=False)


@pytest.mark.parametrize(
    ("directive", "sm"),
    [
        ("--gres=gpu:h100:8", "9.0"),
        ("--gres gpu:a100:4 -N 1", "8.0"),
        ("-G H100:8", "9.0"),
        ("--gpus=l40s:1", "8.9"),
        ("--gpus-per-node=h200:8", "9.0"),
        ("--gres=gpu:nvidia_h100_80gb_hbm3:8", "9.0"),
        ("--gres=gpu:h100-96:1", "9.0"),
        ("--gres=gpu:a100_40:1", "8.0"),
        ("--gres=gpu:A6000:4", "8.6"),
        ("--gres=gpu:rtx-60:4", None),
        ("--gres=gpu:8", None),
        ("--gpus=4", None),
        ("--gres=gpu:kepler:2", None),
        ("--gres=gpu:h100:8\n#SBATCH --gpus=a100:1", None),
        ("--gres=gpu:a100:2,gpu:h100:2", None),
        ("--gpus=a100:1,h100:1", None),
        ("--gres=gpu:h100:1,gpu:h100:1", "9.0"),
        ("--gres=shard:4,gpu:h100:2", "9.0"),
        ("--tres-per-node=gres/gpu:h100:4", "9.0"),
        ("--job-name=gpu:h100", None),
        ("--comment=x # --gres=gpu:h100:8", None),
    ],
)
def test_slurm(directive: str, sm: str | None, loaded: LoadedMatrix) -> None:
    text = f"#!/bin/bash\n#SBATCH {directive}\n{SERVE}"
    assert [one.sm for one in scan_text(loaded, "run.sbatch", text, ScanOptions(), None).launches] == [sm]


def test_its_place() -> None:
    word = gpu_of_job("#!/bin/bash\n#SBATCH --gres=gpu:h100:8\n")
    assert word is not None
    assert (word.text, word.line, word.column) == ("h100", 2, 20)
    assert gpu_of_job("# SBATCH --gres=gpu:h100:8\necho '#SBATCH -G h100:1'\n") is None


def test_a_million_characters_of_directives_are_read_at_once() -> None:
    start = time.process_time()
    assert gpu_of_job("#SBATCH --gres=gpu:h100:1\n" * 40_000) is not None
    assert time.process_time() - start < 5


@pytest.mark.parametrize(
    ("name", "gpu"),
    [("p5.48xlarge", "H100"), ("g6.2xlarge", "L4"), ("g5.xlarge", "A10G"), ("g6e.xlarge", None), ("m5.large", None)],
)
def test_instance_types(name: str, gpu: str | None, loaded: LoadedMatrix) -> None:
    assert gpu_of_instance(name) == gpu
    manifest = (
        f"spec:\n  nodeSelector: {{node.kubernetes.io/instance-type: {name}}}\n  containers:\n"
        "  - image: vllm/vllm-openai:v0.25.1\n    args: [--model, Qwen/Qwen3-8B]\n"
    )
    sm = {"H100": "9.0", "L4": "8.9", "A10G": "8.6"}.get(gpu or "")
    assert [one.sm for one in scan_text(loaded, "pod.yaml", manifest, ScanOptions(), None).launches] == [sm]


def required(*terms: str) -> str:
    listed = ", ".join(f"{{matchExpressions: [{term}]}}" for term in terms)
    return f"{{nodeAffinity: {{requiredDuringSchedulingIgnoredDuringExecution: {{nodeSelectorTerms: [{listed}]}}}}}}"


def product(*values: str, operator: str = "In") -> str:
    return f"{{key: nvidia.com/gpu.product, operator: {operator}, values: [{', '.join(values)}]}}"


ZONE = "{key: zone, operator: In, values: [a]}"
TERM = f"{{matchExpressions: [{product('NVIDIA-H200')}]}}"


@pytest.mark.parametrize(
    ("affinity", "sm"),
    [
        (required(product("NVIDIA-H200")), "9.0"),
        (required(f"{ZONE}, {product('NVIDIA-H200')}"), "9.0"),
        (required(product("NVIDIA-A100-SXM4-40GB", "NVIDIA-A100-SXM4-80GB")), "8.0"),
        (required(product("NVIDIA-H200"), f"{product('NVIDIA-H200')}, {ZONE}"), "9.0"),
        (required(product("NVIDIA-H200"), product("NVIDIA-L4")), None),
        (required(product("NVIDIA-H200"), ZONE), None),
        (required(product("NVIDIA-H200", "NVIDIA-L4")), None),
        (required(product("NVIDIA-H200", operator="NotIn")), None),
        (required(product(operator="Exists")), None),
        (required(product("'{{ .Values.gpu }}'")), None),
        (f"{{nodeAffinity: {{preferredDuringSchedulingIgnoredDuringExecution: [{{preference: {TERM}}}]}}}}", None),
        (f"{{podAntiAffinity: {required(product('NVIDIA-H200'))}}}", None),
        ("{{ toYaml .Values.affinity }}", None),
    ],
)
def test_only_what_a_pod_must_run_on_is_its_gpu(affinity: str, sm: str | None, loaded: LoadedMatrix) -> None:
    manifest = (
        f"spec:\n  affinity: {affinity}\n"
        "  containers:\n  - image: vllm/vllm-openai:v0.25.1\n    args: [--model, Qwen/Qwen3-8B]\n"
    )
    assert [one.sm for one in scan_text(loaded, "pod.yaml", manifest, ScanOptions(), None).launches] == [sm]


@pytest.mark.parametrize(
    ("resources", "sm"),
    [
        ("{accelerators: H100:8}", "9.0"),
        ("{accelerators: {A100-80GB: 1}}", "8.0"),
        ("{accelerators: [L4:1]}", "8.9"),
        ("{accelerators: {L4, A100}}", None),
        ("{gpu: 'H100:80GB:2'}", "9.0"),
        ("{gpu: {name: H100, count: 2}}", "9.0"),
        ("{gpu: {name: [H100, A100]}}", None),
        ("{gpu: 'H100,A100'}", None),
        ("{gpu: 80GB..}", None),
        ("{cpus: 8}", None),
    ],
)
def test_the_gpu_of_a_task(resources: str, sm: str | None, loaded: LoadedMatrix) -> None:
    task = f"resources: {resources}\nrun: vllm serve Qwen/Qwen3-8B\n"
    assert [one.sm for one in scan_text(loaded, "task.yaml", task, ScanOptions(), None).launches] == [sm]


def test_the_image_of_a_task(loaded: LoadedMatrix) -> None:
    task = "resources: {image_id: 'docker:vllm/vllm-openai:v0.25.1'}\nrun: vllm serve Qwen/Qwen3-8B\n"
    assert [one.engine_version for one in scan_text(loaded, "a.yaml", task, ScanOptions(), None).launches] == ["0.25.1"]
