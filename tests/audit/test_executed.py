"""The executed way and the reading process, over the small engine with a small torch of our own."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
from click.testing import CliRunner

from compatcheck.audit.archives import ReleaseError
from compatcheck.audit.executed import audit as executed
from compatcheck.audit.messages import Source
from compatcheck.cli.audit import audit
from compatcheck.matrix.load import load
from tests.audit.release import ENGINE, matrix, nothing_acknowledged, planted, wheel

TORCH = """
class _Dtype(str):
    pass


float16, bfloat16, float32 = _Dtype("torch.float16"), _Dtype("torch.bfloat16"), _Dtype("torch.float32")


def empty(*size, device=None):
    return device


zeros = ones = full = arange = tensor = empty


class cuda:
    pass


class version:
    cuda = None


class library:
    class Library:
        def __init__(self, name, kind):
            pass
"""
RUNNING: Mapping[str, str] = {
    **ENGINE,
    "torch.py": TORCH,
    "vllm/config/__init__.py": """
import contextlib
from types import SimpleNamespace


class VllmConfig:
    def __init__(self):
        self.model_config = None
        self.cache_config = SimpleNamespace(cache_dtype="auto")


set_current_vllm_config = contextlib.nullcontext
""",
    "vllm/envs.py": "VLLM_BATCH_INVARIANT = False\n",
    "vllm/platforms/__init__.py": """
_current_platform = None


def __getattr__(name):
    if name == "current_platform":
        return _current_platform
    raise AttributeError(name)
""",
    "vllm/platforms/interface.py": ENGINE["vllm/platforms/interface.py"].replace(
        "    minor: int\n", "    minor: int\n\n    def to_int(self):\n        return self.major * 10 + self.minor\n"
    )
    + "\n    @classmethod\n    def has_device_capability(cls, capability):\n        return True\n",
    "vllm/platforms/cuda.py": ENGINE["vllm/platforms/cuda.py"].replace(
        "class CudaPlatformBase(Platform):\n    pass", "class NvmlCudaPlatform(Platform):\n    pass"
    ),
    "vllm/v1/attention/backends/registry.py": ENGINE["vllm/v1/attention/backends/registry.py"]
    + "\n    def get_class(self):\n        import importlib\n\n        module, _, name = self.value.rpartition('.')\n"
    "        return getattr(importlib.import_module(module), name)\n",
    "vllm-0.3.0.dist-info/RECORD": "",
}
GATED = "vllm/v1/attention/backends/gated.py"


def tree(folder: Path, changed: Mapping[str, tuple[str, str]]) -> Source:
    for name, text in {**RUNNING, **planted(RUNNING, changed)}.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    (folder / "vllm-0.3.0.dist-info" / "RECORD").unlink()
    return Source(path=str(folder))


def test_a_selector_that_is_asked_agrees(tmp_path: Path) -> None:
    loaded = load(matrix(tmp_path))
    found = executed(loaded, tree(tmp_path / "tree", {}), None, [], Path(sys.executable))
    assert found.differences == ()
    assert (found.way, found.vllm) == ("executed", "0.3.0")
    assert found.compared > 300


def test_a_selector_that_says_something_else_is_found(tmp_path: Path) -> None:
    changed = {
        GATED: ("(9, 12)", "(9,)"),
        "vllm/v1/attention/backends/plain.py": ("class Plain", "import nowhere\n\n\nclass Plain"),
    }
    loaded = load(matrix(tmp_path))
    found = executed(loaded, tree(tmp_path / "tree", changed), None, [], Path(sys.executable), ("12.0",))
    told = {(d.subject, d.matrix, d.library) for d in found.differences}
    assert ("PLAIN", "imports", "import: ModuleNotFoundError: No module named 'nowhere'") in told
    assert ("GATED", "accepts", "refuses: compute capability not supported") in told
    assert {subject for subject, _, _ in told} == {"PLAIN", "GATED"}


def test_a_release_that_cannot_be_imported(tmp_path: Path) -> None:
    source = tree(tmp_path / "tree", {"vllm/platforms/cuda.py": ("class Nvml", "1 / 0\n\n\nclass Nvml")})
    with pytest.raises(ReleaseError, match=r"vLLM 0\.3\.0 cannot be asked in .*: ZeroDivisionError"):
        executed(load(matrix(tmp_path)), source, None, [], Path(sys.executable), ("9.0",))


def test_the_command_reads_in_a_process_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "none").mkdir()
    shared = ["--matrix", str(matrix(tmp_path)), "--acknowledged", str(nothing_acknowledged(tmp_path))]
    options = ["--wheel", str(wheel(tmp_path, ENGINE)), *shared, "--evidence", str(tmp_path / "none")]
    done = CliRunner().invoke(audit, options)
    assert (done.exit_code, done.stderr) == (0, ""), done.output
    assert "vLLM 0.3.0: no drift in " in done.stdout
