"""Values of llm-d's chart: the model of modelArtifacts stands in the command that the chart writes."""

from __future__ import annotations

import pytest

from compatcheck.launch.files.registry import reader_for
from compatcheck.launch.model import Launch
from compatcheck.launch.scan import ScanOptions, scan_text
from compatcheck.matrix.load import LoadedMatrix

VALUES = """\
modelArtifacts:
  uri: "{uri}"
  name: deepseek-ai/DeepSeek-R1
decode:
  parallelism: {{tensor: 4}}
  acceleratorTypes: {{labelKey: nvidia.com/gpu.product, labelValues: [NVIDIA-H200]}}
  containers:
  - name: vllm
    image: {image}
    modelCommand: {kind}
    args: ["--attention-backend", "FLASHMLA"]
"""


def launches(uri: str, kind: str = "vllmServe", image: str = "ghcr.io/llm-d/llm-d-cuda:v0.4.0") -> list[Launch]:
    text = VALUES.format(uri=uri, kind=kind, image=image)
    reader = reader_for("values.yaml", text)
    assert reader is not None
    assert reader.name == "llm-d-values"
    return reader.launches(text)


@pytest.mark.parametrize(
    ("uri", "model"),
    [
        ("hf://deepseek-ai/DeepSeek-R1", "deepseek-ai/DeepSeek-R1"),
        ("pvc+hf://claim/hub/deepseek-ai/DeepSeek-R1", "deepseek-ai/DeepSeek-R1"),
        ("pvc://claim/models/DeepSeek-R1", "/model-cache/models/DeepSeek-R1"),
        ("oci://registry/org/image:tag", "deepseek-ai/DeepSeek-R1"),
        ("", "deepseek-ai/DeepSeek-R1"),
    ],
)
def test_the_model_of_the_artifacts(uri: str, model: str) -> None:
    (launch,) = launches(uri)
    assert [word.text for word in launch.words] == [
        *(model, "--tensor-parallel-size", "4"),
        *("--attention-backend", "FLASHMLA"),
    ]
    assert launch.gpu is not None
    assert launch.gpu.text == "NVIDIA-H200"


def test_the_images_own_program_gets_it_as_an_option() -> None:
    (launch,) = launches("hf://org/model", "imageDefault", "vllm/vllm-openai:v0.25.1")
    assert [word.text for word in launch.words][:2] == ["--model", "org/model"]


def test_a_command_of_its_own_stays_as_it_is() -> None:
    (launch,) = launches("hf://org/model", "custom")
    assert [word.text for word in launch.words] == ["--attention-backend", "FLASHMLA"]


def test_a_model_with_mla_is_known_to_scan(loaded: LoadedMatrix, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HOME", "/nonexistent")
    text = VALUES.format(uri="hf://deepseek-ai/DeepSeek-R1", kind="vllmServe", image="ghcr.io/llm-d/llm-d-cuda:v0.4.0")
    scan = scan_text(loaded, "values.yaml", text, ScanOptions(), None)
    assert [(one.model, one.verdict, one.sm) for one in scan.launches] == [
        ("deepseek-ai/DeepSeek-R1", "supported", "9.0")
    ]
