from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from compatcheck.host import collect, dump_host, parse_host
from compatcheck.host.problems import diagnose
from compatcheck.host.summary import summary_lines
from compatcheck.host.vllm_files import ATTENTION_BACKEND

from . import trees
from .fakes import FakeNvml, h200, rtx5090


def site(tmp_path: Path) -> Path:
    """vLLM 0.32 with the FlashInfer that lacks what it imports."""
    trees.torch(tmp_path, "2.13.0+cu130", "13.0")
    trees.flashinfer(tmp_path, "0.6.14", {"page.py": "def append_paged_kv_cache(): ...\n"})
    trees.distribution(tmp_path, "vllm", "0.32.0", ["flashinfer-python==0.7.0.post1", "torch==2.13.0"])
    trees.write(tmp_path, "vllm/__init__.py", "raise ImportError('vllm must not be imported')\n")
    trees.write(
        tmp_path,
        f"vllm/{ATTENTION_BACKEND}",
        "from flashinfer import nvfp4_quantize_append_paged_kv_cache_with_slot_mapping\n",
    )
    trees.write(tmp_path, "vllm/envs.py", "VLLM_BATCH_INVARIANT = 0\n")
    return tmp_path


def test_a_whole_host_is_collected_diagnosed_and_carried_over(tmp_path: Path) -> None:
    environ = {"PATH": str(tmp_path), "CUDA_VISIBLE_DEVICES": "0", "VLLM_ATTENTION_BACKEND": "FLASHINFER"}
    found = collect(site_paths=[site(tmp_path)], environ=environ, nvml=FakeNvml(h200(), h200()), python="3.12.3")
    assert found.sms() == ("9.0",)
    assert [gpu.visible for gpu in found.gpus] == [True, False]
    assert found.system.python == "3.12.3"
    assert found.packages["torch"].cuda == "13.0"
    assert found.flashinfer_symbols["append_paged_kv_cache"] is True
    assert found.flashinfer_exports["append_paged_kv_cache"] is False
    codes = [problem.code for problem in diagnose(found)]
    for expected in (
        "nvfp4-slot-mapping-helpers-missing",
        "not-the-version-vllm-pins",
        "no-nvcc-no-jit-cache",
        "vllm-disables-flashinfer",
        "vllm-ignores-variable",
        "gpus-hidden",
    ):
        assert expected in codes
    carried = parse_host(dump_host(found))
    assert carried == found
    assert diagnose(carried) == diagnose(found)
    assert str(tmp_path) not in dump_host(found).decode()


def test_parts_can_be_left_out(tmp_path: Path) -> None:
    found = collect(site_paths=[site(tmp_path)], environ={}, gpus=False, toolkit=False, files=False)
    assert found.driver.state == "not-queried"
    assert found.toolkit.source == "not-queried"
    assert found.flashinfer_symbols == {}
    assert found.packages["vllm"].version == "0.32.0"
    assert "no-nvcc-no-jit-cache" not in [problem.code for problem in diagnose(found)]


def test_the_names_to_look_for_are_a_parameter(tmp_path: Path) -> None:
    found = collect(
        site_paths=[site(tmp_path)],
        environ={},
        nvml=FakeNvml(rtx5090()),
        toolkit=False,
        symbols={"append_paged_kv_cache": ["flashinfer.page"], "mm_fp4": ["flashinfer.gemm"]},
    )
    assert found.flashinfer_symbols == {"append_paged_kv_cache": True, "mm_fp4": False}


def test_nothing_installed_is_a_host_too(tmp_path: Path) -> None:
    found = collect(site_paths=[tmp_path, tmp_path / "absent"], environ={}, nvml=FakeNvml())
    assert found.packages == {}
    assert found.gpus == ()
    assert found.driver.state == "ok"
    assert summary_lines(found, diagnose(found))


def test_this_very_host() -> None:
    """No fake at all: whatever this machine has must be collected, saved, read back and summarised."""
    found = collect()
    assert parse_host(dump_host(found)) == found
    assert found.packages["nvidia-ml-py"].version
    lines = summary_lines(found, diagnose(found))
    assert any(line.startswith("driver") for line in lines)
    home = str(Path.home())
    assert home == "/" or home not in dump_host(found).decode()


@pytest.mark.parametrize("module", ["compatcheck.host", "compatcheck.host.problems"])
def test_collecting_imports_no_gpu_package_and_nothing_slow(tmp_path: Path, module: str) -> None:
    """The trees' torch and vllm raise when they are imported; a real process proves that nobody does."""
    code = (
        f"import sys; sys.path.insert(0, {str(site(tmp_path))!r})\n"
        f"import {module}\n"
        "from compatcheck.host import collect\n"
        "collect(files=False, toolkit=False, gpus=False)\n"
        "print(sorted({'torch', 'flashinfer', 'vllm', 'numpy', 'rich', 'jinja2', 'yaml', 'importlib.metadata', "
        "'pynvml', 'subprocess'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "[]"
