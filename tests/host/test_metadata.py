from __future__ import annotations

import importlib.metadata
import sys
from pathlib import Path

import pytest

from compatcheck.host.metadata import (
    MetadataError,
    canonical,
    entry_name,
    is_editable,
    read_metadata,
    requirements,
)

from .trees import distribution, write


@pytest.mark.parametrize(
    ("entry", "name"),
    [
        ("flashinfer_python-0.6.15.dist-info", "flashinfer-python"),
        ("nvidia_cuda_nvcc_cu12-12.8.93.dist-info", "nvidia-cuda-nvcc-cu12"),
        ("vllm-0.33.1.dev5+g4ba787ec9.d20260901.dist-info", "vllm"),
        ("flashinfer_python-0.6.15-py3.11.egg-info", "flashinfer-python"),
        ("flashinfer_python.egg-info", "flashinfer-python"),
        ("torch", None),
        ("torch-2.11.0.data", None),
    ],
)
def test_the_name_is_read_off_the_directory(entry: str, name: str | None) -> None:
    assert entry_name(entry) == name


def test_agrees_with_importlib_metadata_on_every_installed_distribution() -> None:
    """The real thing: all distributions of the environment that runs this test."""
    seen = 0
    for path in map(Path, sys.path):
        for directory in path.glob("*.dist-info") if path.is_dir() else ():
            expected = importlib.metadata.PathDistribution(directory)
            ours = read_metadata(directory)
            assert (ours.name, ours.version) == (expected.metadata["Name"], expected.version)
            assert list(ours.requires) == (expected.requires or [])
            assert entry_name(directory.name) == canonical(expected.metadata["Name"])
            seen += 1
    assert seen >= 10


def test_requirements_keep_what_applies_without_extras() -> None:
    found = requirements(
        (
            "flashinfer-python==0.6.13",
            "nvidia-cutlass-dsl[cu13]==4.5.2",
            "nvidia-cudnn-frontend<1.19.0,>=1.13.0",
            "torch (>=2.0)",
            "ninja",
            'triton==3.1; extra == "rocm"',
            'numba==0.65.0; python_version >= "3.0"',
            'pywin32; platform_system == "Nowhere"',
            "not a requirement at all ==",
        )
    )
    assert found == {
        "flashinfer-python": "==0.6.13",
        "nvidia-cutlass-dsl": "==4.5.2",
        "nvidia-cudnn-frontend": "<1.19.0,>=1.13.0",
        "torch": ">=2.0",
        "ninja": "",
        "numba": "==0.65.0",
    }


def test_missing_and_unreadable_metadata(tmp_path: Path) -> None:
    empty = tmp_path / "torch-2.11.0.dist-info"
    empty.mkdir()
    with pytest.raises(MetadataError, match="METADATA is missing"):
        read_metadata(empty)
    (empty / "METADATA").mkdir()
    with pytest.raises(MetadataError, match="METADATA cannot be read"):
        read_metadata(empty)


def test_metadata_that_is_garbage_is_read_as_far_as_it_goes(tmp_path: Path) -> None:
    entry = tmp_path / "torch-2.11.0.dist-info"
    write(entry, "METADATA")
    (entry / "METADATA").write_bytes(b"\xff\xfe\x00garbage\nName: torch\n")
    assert read_metadata(entry) == ("torch", None, ())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"url": "file:///x", "dir_info": {"editable": true}}', True),
        ('{"url": "file:///x", "dir_info": {}}', False),
        ('{"url"', False),
        ("[]", False),
        (None, False),
    ],
)
def test_editable_installs(tmp_path: Path, text: str | None, expected: bool) -> None:
    entry = distribution(tmp_path, "flashinfer-python", "0.6.15")
    if text is not None:
        write(entry, "direct_url.json", text)
    assert is_editable(entry) is expected


def test_a_folded_licence_with_blank_lines_ends_nothing(tmp_path: Path) -> None:
    """As diffrax and others write it: the requirements come after a licence text with lines of blanks."""
    entry = tmp_path / "torch-2.11.0.dist-info"
    head = "Name: torch\r\nLicense: Apache\r\n        \r\n\tVersion: \x0c9\r\n"
    text = head + "Version: 2.11.0\nRequires-Dist: numpy\n\nName: x\n"
    write(entry, "METADATA")
    (entry / "METADATA").write_bytes(text.encode())
    assert read_metadata(entry) == ("torch", "2.11.0", ("numpy",))
    expected = importlib.metadata.PathDistribution(entry)
    assert (expected.version, expected.requires) == ("2.11.0", ["numpy"])
