"""The real releases on both sides of the NVFP4 slot-mapping helpers, installed by the real pip.

What FlashInfer's own code does is not retold but run: single functions are taken out of the installed files and
called, and ours must agree with them.
"""

from __future__ import annotations

import ast
import functools
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from packaging.version import Version

from compatcheck.host import collect
from compatcheck.host.flashinfer_files import inspect_flashinfer
from compatcheck.host.problems.kernel_wheels import cubin_mismatch, jit_cache_mismatch
from compatcheck.host.problems.nvcc_too_old import minimum_cuda
from compatcheck.host.symbols import PAGED_DEQUANTIZE, SLOT_MAPPING_APPEND, SYMBOLS
from compatcheck.host.toolkit import resolve_root

from .hosts import codes, host

Install = Callable[[str], Path]
OLD, NEW = "0.6.14", "0.6.15"
ADDED = {SLOT_MAPPING_APPEND, PAGED_DEQUANTIZE, "nvfp4_quantize_append_paged_kv_cache"}


def extract(path: Path, name: str, namespace: dict[str, Any]) -> Any:
    """Return one function of a source file, without its decorators, executed in a namespace of ours."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    (node,) = [n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef) and n.name == name]
    node.decorator_list = []
    exec(compile(ast.Module([node], []), str(path), "exec"), namespace)
    return namespace[name]


@pytest.mark.parametrize("version", [OLD, NEW])
def test_the_installed_files_tell_the_helpers_apart(real_flashinfer: Install, version: str) -> None:
    site = real_flashinfer(version)
    found = collect(site_paths=[site], environ={}, gpus=False, toolkit=False)
    package = found.packages["flashinfer-python"]
    assert (package.version, package.module_version, package.editable) == (version, version, False)
    expected = {name: version == NEW or name not in ADDED for name in SYMBOLS}
    expected["nvfp4_quantize_append_paged_mla_kv_cache"] = False  # since 0.7.0
    assert found.flashinfer_symbols == expected
    assert found.flashinfer_exports == expected
    assert found.flashinfer_import_queries_gpu is True
    assert found.unreadable_files == ()
    assert found.broken_packages == ()


def test_the_two_releases_differ_in_the_helpers_alone(real_flashinfer: Install) -> None:
    old, new = (inspect_flashinfer(real_flashinfer(version) / "flashinfer").symbols for version in (OLD, NEW))
    assert {name for name in SYMBOLS if old[name] != new[name]} == ADDED


def test_a_release_whose_files_are_damaged_is_unknown_where_it_is_damaged(
    real_flashinfer: Install, tmp_path: Path
) -> None:
    source = real_flashinfer(NEW) / "flashinfer"
    damaged = tmp_path / "flashinfer"
    for name in ("__init__.py", "page.py", "xqa.py", "quantization/__init__.py"):
        (damaged / name).parent.mkdir(parents=True, exist_ok=True)
        (damaged / name).write_bytes((source / name).read_bytes())
    (damaged / "page.py").write_bytes((source / "page.py").read_bytes()[:5000])
    found = inspect_flashinfer(damaged)
    assert found.symbols[SLOT_MAPPING_APPEND] is None
    assert found.symbols["xqa"] is True
    assert found.symbols[PAGED_DEQUANTIZE] is False, "its file is gone"
    assert [line.partition(":")[0] for line in found.unreadable] == ["flashinfer.page"]


@pytest.mark.parametrize(
    "environ",
    [
        {"CUDA_HOME": "/a", "CUDA_PATH": "/b"},
        {"CUDA_PATH": "/b"},
        {"CUDA_HOME": "", "CUDA_PATH": "/b"},
        {"CUDA_HOME": "", "CUDA_PATH": ""},
        {},
    ],
)
def test_the_toolkit_root_is_the_librarys_own(
    real_flashinfer: Install, environ: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("CUDA_HOME", "CUDA_PATH"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    namespace = {"os": os, "subprocess": subprocess, "functools": functools}
    theirs = extract(real_flashinfer(NEW) / "flashinfer/jit/cpp_ext.py", "get_cuda_path", namespace)
    try:
        expected = theirs()
    except RuntimeError:
        assert resolve_root(os.environ).source == "none"
    else:
        assert resolve_root(os.environ).path == expected


@pytest.mark.parametrize("version", [OLD, NEW])
@pytest.mark.parametrize("sm", ["8.6", "9.0", "12.0", "12.1"])
@pytest.mark.parametrize("cuda", ["12.6", "12.8", "12.9", "13.0"])
def test_the_toolkit_needed_for_sm_12_is_the_librarys_own(
    real_flashinfer: Install, monkeypatch: pytest.MonkeyPatch, version: str, sm: str, cuda: str
) -> None:
    path = real_flashinfer(version) / "flashinfer/compilation_context.py"
    gate = SimpleNamespace(is_cuda_version_at_least=lambda wanted: Version(cuda) >= Version(wanted))
    monkeypatch.setitem(sys.modules, "flashinfer.jit.cpp_ext", gate)
    theirs = extract(path, "_normalize_cuda_arch", {})
    try:
        theirs(*map(int, sm.split(".")))
        accepted = True
    except RuntimeError:
        accepted = False
    need = minimum_cuda(sm, version)
    assert accepted == (need is None or Version(cuda) >= Version(need[0]))


@pytest.mark.parametrize("version", [OLD, NEW])
@pytest.mark.parametrize("disabled", ["", "0", "1"])
@pytest.mark.parametrize("wheel", ["0.6.13", "0.6.14", "0.6.15", "0.6.15+cu130", "0.6.14.post1", "0.6.15.dev1"])
def test_kernel_wheels_are_refused_as_the_library_refuses_them(
    real_flashinfer: Install, monkeypatch: pytest.MonkeyPatch, version: str, disabled: str, wheel: str
) -> None:
    path = real_flashinfer(version) / "flashinfer/jit/env.py"
    monkeypatch.delenv("FLASHINFER_CUBIN_DIR", raising=False)
    monkeypatch.setenv("FLASHINFER_DISABLE_VERSION_CHECK", disabled)
    namespace: dict[str, Any] = {
        "os": os,
        "pathlib": SimpleNamespace(Path=Path),
        "flashinfer_version": version,
        "has_flashinfer_cubin": lambda: True,
        "has_flashinfer_jit_cache": lambda: True,
        "FLASHINFER_CACHE_DIR": Path(),
        "_package_root": Path(),
    }
    made = host(
        packages={"flashinfer-python": version, "flashinfer-cubin": wheel, "flashinfer-jit-cache": wheel},
        env={"FLASHINFER_DISABLE_VERSION_CHECK": disabled},
    )
    for module, name, ours in (
        ("flashinfer_cubin", "_get_cubin_dir", cubin_mismatch),
        ("flashinfer_jit_cache", "_get_aot_dir", jit_cache_mismatch),
    ):
        fake = SimpleNamespace(__version__=wheel, get_cubin_dir=lambda: "", get_jit_cache_dir=lambda: "")
        monkeypatch.setitem(sys.modules, module, fake)
        try:
            extract(path, name, namespace)()
            raised = False
        except RuntimeError:
            raised = True
        mismatch = ours(made)
        assert raised == (mismatch is not None and mismatch.reaction == "raises"), (module, mismatch)


def test_a_gpu_less_machine_with_cutlass_dsl_is_warned(real_flashinfer: Install) -> None:
    found = collect(site_paths=[real_flashinfer(NEW)], environ={}, gpus=False, toolkit=False)
    made = host(
        packages={"flashinfer-python": NEW, "nvidia-cutlass-dsl": "4.5.2", "torch": "2.11.0+cpu"},
        flashinfer_import_queries_gpu=found.flashinfer_import_queries_gpu,
    )
    assert "flashinfer-import-needs-gpu" in codes(made)
