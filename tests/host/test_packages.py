from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from compatcheck.host.packages import collect_packages, default_site_paths

from . import trees


def test_versions_local_parts_and_torchs_cuda(tmp_path: Path) -> None:
    trees.torch(tmp_path, "2.11.0+cu130", "13.0")
    trees.distribution(tmp_path, "flashinfer-jit-cache", "0.6.15+cu130")
    trees.distribution(tmp_path, "requests", "2.33.0")
    packages, broken = collect_packages([tmp_path])
    assert sorted(packages) == ["flashinfer-jit-cache", "torch"]
    assert (packages["torch"].version, packages["torch"].local, packages["torch"].cuda) == (
        "2.11.0+cu130",
        "cu130",
        "13.0",
    )
    assert packages["flashinfer-jit-cache"].local == "cu130"
    assert broken == ()


def test_a_cpu_build_has_no_cuda(tmp_path: Path) -> None:
    trees.torch(tmp_path, "2.13.0+cpu", None)
    (torch,) = collect_packages([tmp_path])[0].values()
    assert (torch.cuda, torch.rocm, torch.module_version) == (None, None, "2.13.0+cpu")


def test_vllms_pins_and_nothing_else_of_its_requirements(tmp_path: Path) -> None:
    trees.distribution(
        tmp_path,
        "vllm",
        "0.25.1",
        ["torch==2.11.0", "flashinfer-python==0.6.13", "numpy", 'tilelang==9; extra == "x"'],
    )
    (vllm,) = collect_packages([tmp_path])[0].values()
    assert vllm.requires == {"flashinfer-python": "==0.6.13", "torch": "==2.11.0"}


def test_the_first_directory_on_the_path_decides(tmp_path: Path) -> None:
    trees.distribution(tmp_path / "a", "triton", "3.6.0")
    trees.distribution(tmp_path / "b", "triton", "3.1.0")
    packages, broken = collect_packages([tmp_path / "missing", tmp_path / "a", tmp_path / "b"])
    assert packages["triton"].version == "3.6.0"
    assert broken == ()


def test_flashinfers_own_version_is_read_from_its_files(tmp_path: Path) -> None:
    package = trees.flashinfer(tmp_path, "0.6.15")
    assert collect_packages([tmp_path])[0]["flashinfer-python"].module_version == "0.6.15"
    (package / "_build_meta.py").unlink()
    assert collect_packages([tmp_path])[0]["flashinfer-python"].module_version == "0.0.0+unknown"


def test_jit_cache_providers_are_found_by_their_prefix(tmp_path: Path) -> None:
    trees.distribution(tmp_path, "flashinfer-jit-cache-sm90a", "0.7.0+cu130")
    assert list(collect_packages([tmp_path])[0]) == ["flashinfer-jit-cache-sm90a"]


def test_broken_metadata_is_recorded_and_the_rest_still_read(tmp_path: Path) -> None:
    shutil.rmtree(trees.distribution(tmp_path, "triton", "3.6.0"))
    (tmp_path / "triton-3.6.0.dist-info").mkdir()
    trees.write(tmp_path, "tilelang-0.1.9.dist-info/METADATA", "Name: tilelang\n\nVersion: 1\n")
    trees.distribution(tmp_path, "vllm", "main")
    trees.distribution(tmp_path, "ninja", "1.13.0")
    packages, broken = collect_packages([tmp_path])
    assert {item.name: item.kind for item in broken} == {
        "triton": "no-metadata",
        "tilelang": "no-version",
        "vllm": "bad-version",
    }
    assert packages["ninja"].version == "1.13.0"
    assert {name: packages[name].version for name in ("triton", "tilelang", "vllm")} == dict.fromkeys(
        ("triton", "tilelang", "vllm")
    )


def test_two_metadata_directories_and_pips_leftovers(tmp_path: Path) -> None:
    trees.distribution(tmp_path, "flashinfer-python", "0.6.13")
    trees.distribution(tmp_path, "flashinfer-python", "0.6.15")
    (tmp_path / "~lashinfer_cubin-0.6.13.dist-info").mkdir()
    (tmp_path / "~equests-2.0.dist-info").mkdir()
    packages, broken = collect_packages([tmp_path])
    assert [(item.name, item.kind) for item in broken] == [
        ("flashinfer-cubin", "leftover"),
        ("flashinfer-python", "duplicate"),
    ]
    assert "0.6.13" in broken[1].detail
    assert "0.6.15" in broken[1].detail
    assert "flashinfer-cubin" not in packages


def test_files_without_metadata(tmp_path: Path) -> None:
    shutil.rmtree(trees.flashinfer(tmp_path, "0.6.15").parent / "flashinfer_python-0.6.15.dist-info")
    packages, broken = collect_packages([tmp_path])
    assert packages["flashinfer-python"].version == "0.6.15"
    assert [(item.name, item.kind, item.entry) for item in broken] == [
        ("flashinfer-python", "no-metadata", "flashinfer")
    ]


@pytest.mark.parametrize("style", ["pth", "finder"])
def test_an_editable_install_is_followed_to_its_source(tmp_path: Path, style: str) -> None:
    source, site = tmp_path / "source", tmp_path / "site"
    trees.write(source, "flashinfer/__init__.py")
    trees.write(source, "flashinfer/_build_meta.py", '__version__ = "0.7.1"\n')
    entry = trees.distribution(site, "flashinfer-python", "0.7.0")
    trees.write(entry, "direct_url.json", '{"url": "file:///src", "dir_info": {"editable": true}}')
    if style == "pth":
        trees.write(site, "__editable__.flashinfer_python.pth", f"# comment\nimport sys\n{source}\n")
    else:
        mapping = f"MAPPING: dict[str, str] = {{'flashinfer': {str(source / 'flashinfer')!r}}}\n"
        trees.write(site, "__editable___flashinfer_python_finder.py", mapping)
        trees.write(site, "__editable___broken_finder.py", "MAPPING = {")
    package = collect_packages([site])[0]["flashinfer-python"]
    assert (package.version, package.module_version, package.editable) == ("0.7.0", "0.7.1", True)


def test_the_default_path_is_that_of_this_interpreter() -> None:
    packages, _ = collect_packages(default_site_paths())
    assert packages["nvidia-ml-py"].version is not None


def test_an_unreadable_version_file_is_no_error(tmp_path: Path) -> None:
    trees.torch(tmp_path, "2.11.0", "13.0")
    (tmp_path / "torch/version.py").write_bytes(b"\xff\xfe broken")
    (torch,) = collect_packages([tmp_path])[0].values()
    assert (torch.version, torch.module_version, torch.cuda) == ("2.11.0", None, None)
