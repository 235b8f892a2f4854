"""What nothing evaluates is watched by fingerprint: each planted change is told, comments are not, records are by release."""

# ruff: noqa: E501 - texts of planted changes

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from compatcheck.audit import child
from compatcheck.audit.guards import records
from compatcheck.audit.guards.item import Guard
from compatcheck.audit.messages import Request, Source
from compatcheck.cli.audit import audit
from tests.audit.release import ENGINE, LIBRARY, matrix, nothing_acknowledged, wheel

BACKENDS = "vllm/v1/attention/backends/"
LINEAR = "vllm/model_executor/kernels/linear/"
SYMBOLS = ["flashinfer.page:append", "flashinfer.prefill:run"]

RELEASE = {
    **ENGINE,
    "vllm/platforms/cuda.py": ENGINE["vllm/platforms/cuda.py"].replace(
        "    pass\n",
        "    @classmethod\n    def get_valid_backends(cls, config):\n        # in order\n        return list(_get_backend_priorities(False, None))\n",
    ),
    BACKENDS + "plain.py": "import torch\n"
    + ENGINE[BACKENDS + "plain.py"]
    + "\n    @staticmethod\n    def get_impl_cls():\n        return PlainImpl\n\n\nclass PlainImpl:\n"
    '    def __init__(self, kv_cache_dtype):\n        """Says nothing."""\n        if kv_cache_dtype == "fp8":\n            raise ValueError("no fp8")\n',
    "vllm/v1/attention/selector.py": "import vllm.envs as envs\n\n\ndef get_attn_backend(head_size):\n    return head_size, envs.VLLM_SWITCH\n",
    "vllm/config/kernel.py": 'from typing import Literal\n\nLinearBackend = Literal["auto", "marlin"]\n',
    "vllm/config/vllm.py": "class VllmConfig:\n    def validate_kv(self):\n        if self.cache_config.cache_dtype == 'nvfp4':\n            raise ValueError('no')\n",
    "vllm/model_executor/__init__.py": "",
    "vllm/model_executor/kernels/__init__.py": "",
    LINEAR + "__init__.py": "from vllm.model_executor.kernels.linear.nvfp4.marlin import MarlinNvFp4LinearKernel\n"
    "from vllm.utils.humming import prefer\n\n_POSSIBLE_NVFP4_KERNELS = {}\n\n\ndef _resolve(kernels):\n    return prefer(kernels)\n\n\n"
    "def init_nvfp4_linear_kernel():\n    return _resolve([MarlinNvFp4LinearKernel])\n\n\ndef register_linear_kernel(kernel):\n    _POSSIBLE_NVFP4_KERNELS['x'] = kernel\n",
    LINEAR + "nvfp4/__init__.py": "",
    LINEAR
    + "nvfp4/marlin.py": "class MarlinNvFp4LinearKernel:\n    @classmethod\n    def can_implement(cls, config):\n        return True, None\n",
    "vllm/utils/__init__.py": "",
    "vllm/utils/humming.py": "_PREFERRED = frozenset({90})\n\n\ndef prefer(kernels):\n    return kernels if _PREFERRED else kernels[::-1]\n",
}
REGISTRY = BACKENDS + "registry.py"
PLAIN = BACKENDS + "plain.py"

PLANTS: dict[str, tuple[str, str, str, str]] = {
    "linear: the selection": (LINEAR + "__init__.py", "return _resolve([", "return ([", "init_nvfp4_linear_kernel"),
    "linear: what it calls": (LINEAR + "__init__.py", "return prefer(kernels)", "return kernels", "_resolve"),
    "linear: a constant two calls away": ("vllm/utils/humming.py", "{90}", "{90, 120}", "_PREFERRED"),
    "linear: can_implement": (
        LINEAR + "nvfp4/marlin.py",
        "True, None",
        "False, 'no'",
        "MarlinNvFp4LinearKernel.can_implement",
    ),
    "linear: a kernel is registered": (
        LINEAR + "__init__.py",
        "    _POSSIBLE_NVFP4_KERNELS['x'] = kernel\n",
        "    _POSSIBLE_NVFP4_KERNELS['x'] = kernel\n\n\nregister_linear_kernel(MarlinNvFp4LinearKernel)\n",
        "<module>",
    ),
    "linear: the option": ("vllm/config/kernel.py", '"marlin"', '"new"', "LinearBackend"),
    "class: a decorator": (PLAIN, "class PlainBackend", "@changed\nclass PlainBackend", "PlainBackend <made by>"),
    "class: a metaclass": (PLAIN, "(AttentionBackend)", "(AttentionBackend, metaclass=M)", "PlainBackend <made by>"),
    "class: a hook of the base": (
        "vllm/v1/attention/backend.py",
        "class AttentionBackend:\n",
        "class AttentionBackend:\n    def __init_subclass__(cls):\n        cls.x = 1\n\n",
        "AttentionBackend <made by>",
    ),
    "class: changed by its module": (
        PLAIN,
        'raise ValueError("no fp8")\n',
        'raise ValueError("no fp8")\n\n\nPlainBackend.supported_kv_cache_dtypes.append("nvfp4")\n',
        "<module>",
    ),
    "class: registered anew": (
        REGISTRY,
        "    CUSTOM = None\n",
        "    CUSTOM = None\n\n\nregister_backend('PLAIN', 'x')\n",
        "<module>",
    ),
    "class: get_class": (
        REGISTRY,
        "    CUSTOM = None\n",
        "    CUSTOM = None\n\n    def get_class(self):\n        raise ImportError\n",
        "AttentionBackendEnum.get_class",
    ),
    "import: a package": (PLAIN, "import torch\n", "import torch\nimport brand_new\n", "import brand_new"),
    "import: a module that is not there": (
        PLAIN,
        "import torch\n",
        "import torch\nimport vllm.v1.lost\n",
        "import vllm.v1.lost",
    ),
    "import: under a condition": (
        PLAIN,
        "import torch\n",
        "import torch\nif torch.x():\n    import flashinfer\n",
        "<module>",
    ),
    "selection: the platform": (
        "vllm/platforms/cuda.py",
        "return list(",
        "return sorted(",
        "CudaPlatformBase.get_valid_backends",
    ),
    "selection: the selector": (
        "vllm/v1/attention/selector.py",
        "return head_size,",
        "return head_size + 1,",
        "get_attn_backend",
    ),
    "selection: a default": ("vllm/envs.py", '"VLLM_SWITCH", "0"', '"VLLM_SWITCH", "1"', "VLLM_SWITCH"),
    "selection: a validator": ("vllm/config/vllm.py", "== 'nvfp4'", "== 'nvfp9'", "VllmConfig.validate_kv"),
    "selection: construction": (PLAIN, '== "fp8"', '!= "fp8"', "PlainImpl.__init__"),
    "library: a default": ("flashinfer/page.py", "scale=None", "scale=1", "append"),
    "library: a body": (
        "flashinfer/page.py",
        "    return key, value, scale",
        "    assert scale\n    return key, value, scale",
        "append",
    ),
    "library: a decorator": ("flashinfer/page.py", "def append", "@refused\ndef append", "append"),
    "library: a check": ("flashinfer/prefill.py", "    return True", "    return False", "_check"),
    "library: replaced": (
        "flashinfer/page.py",
        "    return key, value, scale\n",
        "    return key, value, scale\n\n\nappend = refused(append)\n",
        "append",
    ),
}


def guards(folder: Path, changed: dict[str, tuple[str, str]] | None = None) -> list[Guard]:
    changed = changed or {}
    engine = wheel(folder, RELEASE, changed={f: c for f, c in changed.items() if f.startswith("vllm/")})
    library = wheel(folder, LIBRARY, changed={f: c for f, c in changed.items() if f.startswith("flashinfer/")})
    asked = Request(
        vllm=Source(path=str(engine)),
        flashinfer=Source(path=str(library)),
        sms=["9.0"],
        kv_cache_dtypes=["auto"],
        symbols=SYMBOLS,
        only_guards=True,
    )
    said = child.answer(asked)
    assert said.vllm is not None
    assert said.flashinfer is not None
    return [*said.vllm.guards, *said.flashinfer.guards]


def recorded(*releases: tuple[str, list[Guard]]) -> records.Table:
    table = records.Table()
    for version, found in releases:
        records.record(table, version, found)
    return table


@pytest.mark.parametrize("name", PLANTS)
def test_each_planted_change_is_told(tmp_path: Path, name: str) -> None:
    file, old, new, told = PLANTS[name]
    table = recorded(("1.0", guards(tmp_path)))
    found = records.unrecorded(table, "1.0", guards(tmp_path, {file: (old, new)}))
    assert f"{file}:{told}" in [guard.key for guard, _ in found], found
    assert all(guard.line > 0 or why == records.GONE for guard, why in found)


def test_comments_docstrings_and_lines_do_not_count(tmp_path: Path) -> None:
    table = recorded(("1.0", guards(tmp_path)))
    quiet = {
        "vllm/platforms/cuda.py": ("        # in order\n", "\n\n"),
        PLAIN: ('"""Says nothing."""', '"""Says something else."""'),
    }
    assert records.unrecorded(table, "1.0", guards(tmp_path, quiet)) == []


def guard(key: str, digest: str) -> Guard:
    return Guard(group="g", key=key, line=1, digest=digest)


def test_a_recorded_release_must_have_its_own_and_another_one_of_any() -> None:
    table = recorded(
        ("1.0", [guard("a.py:f", "1"), guard("a.py:g", "7")]),
        ("3.0", [guard("a.py:f", "2")]),
        ("2.0", [guard("a.py:f", "1"), guard("a.py:g", "7")]),
    )
    assert table.guards == {"a.py": {"f": {"1": "1.0..2.0", "2": "3.0"}, "g": {"7": "1.0..2.0"}}}

    def told(version: str, *found: Guard) -> list[tuple[str, str]]:
        return [(one.key, why) for one, why in records.unrecorded(table, version, found)]

    assert told("3.0", guard("a.py:f", "2")) == []
    assert told("3.0", guard("a.py:f", "1")) == [("a.py:f", records.CHANGED)]
    assert told("1.0", guard("a.py:f", "1")) == [("a.py:g", records.GONE)]
    assert told("4.0", guard("a.py:f", "1")) == []
    assert told("4.0", guard("a.py:f", "3"), guard("a.py:h", "1")) == [
        ("a.py:f", records.CHANGED),
        ("a.py:h", records.NEW),
    ]


def test_the_file_is_read_as_it_was_written(tmp_path: Path) -> None:
    table = recorded(("1.0", [guard("a.py:f", "1")]), ("2.0", [guard("b.py:g <body>", "2")]))
    file = tmp_path / "guards.json"
    file.write_text(records.text(records.Records(vllm=table)), encoding="utf-8")
    assert records.load(file).vllm == table
    file.write_text("{", encoding="utf-8")
    with pytest.raises(ValueError, match="no file of guards"):
        records.load(file)
    with pytest.raises(ValueError, match="cannot be read"):
        records.load(tmp_path / "none.json")


def test_the_command_ends_with_3(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("compatcheck.audit.run.read", child.answer)
    (tmp_path / "none").mkdir()
    options = ["--matrix", str(matrix(tmp_path)), "--acknowledged", str(nothing_acknowledged(tmp_path))]
    options += ["--evidence", str(tmp_path / "none"), "--wheel"]
    quiet = CliRunner().invoke(audit, [*options, str(wheel(tmp_path, ENGINE))])
    assert quiet.exit_code == 0, quiet.output
    assert "guards unchanged" in quiet.output
    planted = wheel(tmp_path, ENGINE, changed={PLAIN: ("class Plain", "@changed\nclass Plain")})
    told = CliRunner().invoke(audit, [*options, str(planted), "--format", "json"])
    assert told.exit_code == 3
    (found,) = json.loads(told.stdout)["not_understood"]
    assert (found["subject"], found["expression"]) == ("guard: backend classes", "PlainBackend <made by>")
    assert found["place"] == f"{PLAIN}:6"


def test_a_file_of_the_host_is_no_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("compatcheck.audit.run.read", child.answer)
    (tmp_path / "none").mkdir()
    gated = BACKENDS + "gated.py"
    asks = (
        "        if envs.VLLM_BATCH_INVARIANT:",
        "        import os\n        if os.path.exists('/etc/hosts'):\n            return False\n        if envs.VLLM_BATCH_INVARIANT:",
    )
    options = ["--matrix", str(matrix(tmp_path)), "--acknowledged", str(nothing_acknowledged(tmp_path))]
    options += ["--evidence", str(tmp_path / "none"), "--format", "json", "--wheel"]
    told = CliRunner().invoke(audit, [*options, str(wheel(tmp_path, ENGINE, changed={gated: asks}))])
    assert told.exit_code == 3, told.output
    assert {item["why"] for item in json.loads(told.stdout)["not_understood"]} == {"whether the host has a file"}
