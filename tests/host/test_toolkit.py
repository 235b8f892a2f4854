from __future__ import annotations

import os
import shutil
import stat
import subprocess
from pathlib import Path

import pytest

from compatcheck.host.model import Toolkit
from compatcheck.host.toolkit import HEADERS, inspect_toolkit, nvcc_version, resolve_root

from .trees import write

WHICH = shutil.which("which")


def program(path: Path, body: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{body}\n", encoding="utf-8")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def nvcc_text(release: str, build: str) -> str:
    return f"cat <<'X'\nnvcc: NVIDIA (R) Cuda compiler driver\nCuda compilation tools, release {release}, V{build}\nX"


def cuda(root: Path, release: str = "12.8", build: str = "12.8.93") -> Path:
    """A toolkit with a fake nvcc, every header and the libraries."""
    program(root / "bin/nvcc", nvcc_text(release, build))
    for name in HEADERS:
        write(root, f"include/{name}")
    write(root, "lib64/libcudart.so")
    write(root, "lib64/stubs/libcuda.so")
    return root


def path_with(*directories: Path) -> str:
    """A PATH with `which` on it, and nothing else of this machine's."""
    assert WHICH is not None
    return os.pathsep.join([*map(str, directories), str(Path(WHICH).parent)])


@pytest.fixture
def bare(tmp_path: Path) -> Path:
    """A bin directory with `which` and the shell's needs, but no nvcc, ninja or compiler."""
    directory = tmp_path / "bare"
    directory.mkdir()
    for name in ("which", "sh", "cat", "sleep"):
        found = shutil.which(name)
        assert found is not None
        (directory / name).symlink_to(found)
    return directory


def test_cuda_home_comes_first(tmp_path: Path, bare: Path) -> None:
    home, other = cuda(tmp_path / "home"), cuda(tmp_path / "other", "13.0", "13.0.88")
    kit = inspect_toolkit({"CUDA_HOME": str(home), "CUDA_PATH": str(other), "PATH": f"{other}/bin:{bare}"})
    assert (kit.source, kit.cuda_version, kit.nvcc_build) == ("CUDA_HOME", "12.8", "12.8.93")
    assert kit.nvcc
    assert kit.nvcc_on_path
    assert kit.nvcc_error is None
    assert set(kit.headers.values()) == {True}
    assert kit.libraries == {"libcudart.so": True, "libcuda.so": True}


def test_an_empty_cuda_home_counts_as_unset_but_an_empty_cuda_path_wins(tmp_path: Path) -> None:
    assert resolve_root({"CUDA_HOME": "", "CUDA_PATH": "x", "PATH": ""}).source == "CUDA_PATH"
    kit = inspect_toolkit({"CUDA_HOME": "", "CUDA_PATH": "", "PATH": str(tmp_path)})
    assert (kit.source, kit.nvcc) == ("CUDA_PATH", False)


def test_nvcc_on_path_decides_without_following_links(tmp_path: Path, bare: Path) -> None:
    real = cuda(tmp_path / "cuda-13.0", "13.0", "13.0.88")
    outside = tmp_path / "usr-local/bin"
    outside.mkdir(parents=True)
    (outside / "nvcc").symlink_to(real / "bin/nvcc")
    assert resolve_root({"PATH": f"{outside}:{bare}"}).path == str(tmp_path / "usr-local")
    kit = inspect_toolkit({"PATH": f"{outside}:{bare}"})
    assert (kit.source, kit.nvcc, kit.cuda_version) == ("PATH", True, "13.0")
    assert kit.headers["cuda_runtime.h"] is False, "FlashInfer looks beside the link, where no headers are"
    assert kit.libraries["libcudart.so"] is False


def test_the_default_directory_is_last(tmp_path: Path, bare: Path) -> None:
    default = cuda(tmp_path / "cuda")
    kit = inspect_toolkit({"PATH": str(bare)}, default=str(default))
    assert (kit.source, kit.cuda_version) == ("default", "12.8")
    none = inspect_toolkit({"PATH": str(bare)}, default=str(tmp_path / "absent"))
    assert (none.source, none.nvcc, none.headers, none.libraries) == ("none", False, {}, {})
    assert none.error is not None
    assert not none.ninja
    assert not none.host_compiler


def test_without_the_program_which_flashinfer_finds_no_nvcc_on_path(tmp_path: Path) -> None:
    root = cuda(tmp_path / "cuda")
    kit = inspect_toolkit({"PATH": str(root / "bin")}, default=str(root))
    assert kit.source == "none"
    assert kit.error is not None
    assert "which" in kit.error
    assert kit.nvcc_on_path


def test_cuda_home_without_nvcc(tmp_path: Path, bare: Path) -> None:
    (tmp_path / "empty").mkdir()
    kit = inspect_toolkit({"CUDA_HOME": str(tmp_path / "empty"), "PATH": str(bare)})
    assert (kit.source, kit.nvcc, kit.cuda_version, kit.nvcc_error) == ("CUDA_HOME", False, None, None)
    assert kit.headers["cuda.h"] is False


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("echo cannot load /opt/secret/libs >&2; exit 3", "nvcc --version ended with 3: cannot load <path>"),
        ("echo hello", "nvcc --version names no release"),
        ("exit 1", "nvcc --version ended with 1:"),
    ],
)
def test_an_nvcc_that_fails_is_recorded_without_paths(tmp_path: Path, body: str, expected: str) -> None:
    nvcc = program(tmp_path / "bin/nvcc", body)
    assert nvcc_version(str(nvcc), {"PATH": os.defpath}) == (None, None, expected)


def test_an_nvcc_that_cannot_run_or_hangs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nvcc = write(tmp_path, "bin/nvcc", "not executable")
    assert nvcc_version(str(nvcc), {})[2] == "nvcc cannot be run: Permission denied"
    monkeypatch.setattr("compatcheck.host.toolkit._NVCC_SECONDS", 0.2)
    slow = program(tmp_path / "slow/nvcc", "exec sleep 20")
    assert nvcc_version(str(slow), {"PATH": os.defpath})[2] == "nvcc --version did not end within 0.2 s"


def test_libraries_are_found_where_the_linker_is_told_to_look(tmp_path: Path, bare: Path) -> None:
    root = tmp_path / "cu13"
    program(root / "bin/nvcc", nvcc_text("13.0", "13.0.88"))
    write(root, "lib/libcudart.so")
    environ = {"CUDA_HOME": str(root), "PATH": str(bare)}
    assert inspect_toolkit(environ).libraries["libcudart.so"] is False, "lib is not lib64"
    assert inspect_toolkit({**environ, "LIBRARY_PATH": f":{root}/lib"}).libraries["libcudart.so"] is True
    assert inspect_toolkit({**environ, "FLASHINFER_EXTRA_LDFLAGS": "-Lx"}).libraries["libcudart.so"] is None


def test_no_path_of_this_host_is_in_the_record(tmp_path: Path, bare: Path) -> None:
    kit = inspect_toolkit({"CUDA_HOME": str(cuda(tmp_path / "home")), "PATH": str(bare)})
    assert str(tmp_path) not in repr(kit)


@pytest.mark.skipif(shutil.which("nvcc") is None, reason="needs a real nvcc on PATH")
def test_the_real_nvcc_is_read_as_it_says_of_itself() -> None:
    nvcc = shutil.which("nvcc")
    assert nvcc is not None
    said = subprocess.run([nvcc, "--version"], capture_output=True, text=True, check=True).stdout
    environ = {key: value for key, value in os.environ.items() if key not in ("CUDA_HOME", "CUDA_PATH")}
    kit = inspect_toolkit(environ)
    assert isinstance(kit, Toolkit)
    assert (kit.source, kit.nvcc) == ("PATH", True)
    assert kit.cuda_version is not None
    assert f"release {kit.cuda_version}, V{kit.nvcc_build}" in said


@pytest.mark.parametrize(
    ("line", "version"),
    [
        ("#define CUDART_VERSION  13000\n", "13.0"),
        ("/** x */\n# define CUDART_VERSION 12080\n", "12.8"),
        ("#define CUDART_VERSION_OTHER 13000\n", None),
        ("", None),
    ],
)
def test_the_release_of_the_headers(tmp_path: Path, bare: Path, line: str, version: str | None) -> None:
    root = cuda(tmp_path / "cuda", "13.3", "13.3.33")
    write(root, "include/cuda_runtime_api.h", line)
    kit = inspect_toolkit({"CUDA_HOME": str(root), "PATH": str(bare)})
    assert (kit.cuda_version, kit.headers_version) == ("13.3", version)


def test_headers_beside_a_linked_nvcc_say_nothing(tmp_path: Path, bare: Path) -> None:
    real, root = cuda(tmp_path / "real", "13.3", "13.3.33"), tmp_path / "root"
    write(root, "include/cuda_runtime_api.h", "#define CUDART_VERSION 13000\n")
    (root / "bin").mkdir()
    (root / "bin/nvcc").symlink_to(real / "bin/nvcc")
    assert inspect_toolkit({"CUDA_HOME": str(root), "PATH": str(bare)}).headers_version is None


def test_a_linked_toolkit_is_one_toolkit(tmp_path: Path, bare: Path) -> None:
    real = cuda(tmp_path / "cuda-13.0", "13.0", "13.0.88")
    write(real, "include/cuda_runtime_api.h", "#define CUDART_VERSION 13000\n")
    (tmp_path / "cuda").symlink_to(real)
    assert inspect_toolkit({"CUDA_HOME": str(tmp_path / "cuda"), "PATH": str(bare)}).headers_version == "13.0"
