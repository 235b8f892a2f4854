"""What an image's name says of the release inside, and what it does not."""

from __future__ import annotations

import pytest

from compatcheck.launch.docker import is_other_platform
from compatcheck.launch.image_release import NVIDIA, brought_by
from compatcheck.launch.scan import ScanOptions, scan_text
from compatcheck.matrix.load import LoadedMatrix


@pytest.fixture(autouse=True)
def no_model_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HOME", "/nonexistent")
    monkeypatch.delenv("HF_HUB_CACHE", raising=False)


@pytest.mark.parametrize(
    ("image", "version"),
    [
        ("vllm/vllm-openai:v0.25.1", "0.25.1"),
        ("vllm/vllm-openai:0.25.1", "0.25.1"),
        ("docker.io/vllm/vllm-openai:v0.18.0-cu130", "0.18.0"),
        ("vllm/vllm-openai:v0.11.0-x86_64", "0.11.0"),
        ("vllm/vllm-openai:v0.20.0-aarch64", "0.20.0"),
        ("vllm/vllm-openai:v0.25.1@sha256:4f550996130e7d16cacb24ca9a2865e7cf51eddaab014ceaf31a1ea6ef86d4ec", "0.25.1"),
        ("vllm/vllm-openai:v0.8.5.post1", "0.8.5.post1"),
        ("public.ecr.example/q9t5s3a7/vllm-openai:v0.30.0", "0.30.0"),
        ("registry.example.com:5000/mirror/vllm-openai:0.25.1", "0.25.1"),
        ("localhost/vllm-openai:v0.25.1", "0.25.1"),
        ("vllm-openai:v0.25.1", "0.25.1"),
        ("nvcr.io/nvidia/vllm:26.05-py3", "0.20.1"),
        ("nvcr.io/nvidia/vllm:25.10-py3-igpu", "0.10.2"),
        # the tags say nothing of vLLM's release
        ("lmcache/vllm-openai:v0.3.12", None),
        ("docker.io/lmcache/vllm-openai:v0.3.12", None),
        ("registry.example.com/lmcache/vllm-openai:v0.3.12", None),
        ("someone/vllm-openai:v1.2.0", None),
        ("docker.io/someone/vllm-openai:v1.2.0", None),
        ("nvcr.io/nvidia/vllm:25.11-py3", None),
        ("nvcr.example/nvidia/vllm:25.10-py3", None),
        ("nvcr.io/nvidia/tritonserver:25.10-vllm-python-py3", None),
        ("vllm/vllm-openai:latest", None),
        ("vllm/vllm-openai:nightly", None),
        ("vllm/vllm-openai:cu130-nightly", None),
        ("vllm/vllm-openai:nightly-0ee3b7fc3dbc0c1f8c1a3a9b1f1b5d4c2e7a9f00", None),
        ("vllm/vllm-openai:gptoss", None),
        ("vllm/vllm-openai:qwen3_5", None),
        ("vllm/vllm-openai@sha256:4f550996130e7d16cacb24ca9a2865e7cf51eddaab014ceaf31a1ea6ef86d4ec", None),
        ("vllm/vllm-openai", None),
        ("quay.io/modh/vllm:rhoai-2.20-cuda", None),
        ("ghcr.io/llm-d/llm-d-cuda:v0.4.0", None),
    ],
)
def test_the_release_of_an_image(image: str, version: str | None) -> None:
    brought = brought_by(image)
    assert (brought.vllm if brought else None) == version


def test_nvidias_images_bring_their_own_flashinfer(loaded: LoadedMatrix) -> None:
    for month, (vllm, flashinfer) in NVIDIA.items():
        brought = brought_by(f"nvcr.io/nvidia/vllm:{month}-py3")
        assert brought is not None
        assert brought.source is not None
        assert (brought.vllm, brought.flashinfer) == (vllm, flashinfer)
        assert brought.source.endswith(f"rel-{month.replace('.', '-')}.html")
        text = f'FROM nvcr.io/nvidia/vllm:{month}-py3\nENTRYPOINT ["vllm", "serve", "Qwen/Qwen3-8B"]\n'
        scan = scan_text(loaded, "Dockerfile", text, ScanOptions(), None)
        assert [one.engine_version for one in scan.launches] == [vllm]


@pytest.mark.parametrize(
    "image",
    [
        "rocm/vllm:rocm6.4.1_vllm_0.9.1_20250702",
        "vllm/vllm-openai-rocm:v0.25.1",
        "vllm/vllm-openai:latest-rocm",
        "public.ecr.aws/q9t5s3a7/vllm-arm64-cpu-release-repo:v0.25.1",
        "intel/vllm:0.10.2-xpu",
        "vllm/vllm-tpu:v0.13.2",
    ],
)
def test_images_of_other_platforms(image: str) -> None:
    assert is_other_platform(image)
    assert not is_other_platform("vllm/vllm-openai:v0.25.1-cu130")


VARIABLE = "ENV VLLM_ATTENTION_BACKEND=FLASHINFER\n"
SERVE = 'ENTRYPOINT ["vllm", "serve", "Qwen/Qwen3-8B"]\n'


@pytest.mark.parametrize("image", ["lmcache/vllm-openai:v0.3.12", "nvcr.io/nvidia/vllm:25.11-py3", "a/b:latest"])
def test_a_variable_of_older_releases_is_a_note_where_no_release_is_stated(image: str, loaded: LoadedMatrix) -> None:
    text = f"FROM {image}\n{VARIABLE}{SERVE}"
    assert not scan_text(loaded, "Dockerfile", text, ScanOptions(), None).diagnostics
    (note,) = scan_text(loaded, "Dockerfile", text, ScanOptions(notes=True), None).diagnostics
    assert (note.code, note.level) == ("launch-variable-ignored", "note")
    assert "The release is only assumed; releases up to 0.14.1 read it." in note.message


def test_it_is_a_warning_where_the_image_says_the_release(loaded: LoadedMatrix) -> None:
    text = f"FROM vllm/vllm-openai:v0.25.1\n{VARIABLE}{SERVE}"
    (warning,) = scan_text(loaded, "Dockerfile", text, ScanOptions(), None).diagnostics
    assert (warning.code, warning.level) == ("launch-variable-ignored", "warning")
    assert "It is set here and has no effect." in warning.message
