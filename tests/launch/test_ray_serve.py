"""Ray Serve's configurations of vLLM, in YAML and in Python."""

from __future__ import annotations

import pytest

from compatcheck.launch.files.registry import reader_for
from compatcheck.launch.model import Launch
from compatcheck.launch.scan import ScanOptions, scan_text
from compatcheck.matrix.load import LoadedMatrix

APPLICATION = """\
applications:
- args:
    llm_configs:
    - model_loading_config:
        model_id: qwen
        model_source: Qwen/Qwen3-8B
      accelerator_type: H100
      engine_kwargs:
        kv_cache_dtype: nvfp4
        attention_backend: TRITON_ATTN
        tensor_parallel_size: 2
        enable_auto_tool_choice: true
      runtime_env:
        env_vars: {VLLM_LOGGING_LEVEL: INFO}
    - model_loading_config: {model_id: other}
      llm_engine: SGLang
  import_path: ray.serve.llm:build_openai_app
"""
SERVICE = """\
apiVersion: ray.io/v1
kind: RayService
spec:
  serveConfigV2: |
"""
PYTHON = """\
from ray import serve
from ray.serve.llm import LLMConfig, build_openai_app
SIZE = 2
config = LLMConfig(
    model_loading_config=dict(model_id="qwen", model_source="Qwen/Qwen3-8B"),
    accelerator_type="H100",
    engine_kwargs=dict(
        kv_cache_dtype="nvfp4",
        attention_backend="TRITON_ATTN",
        tensor_parallel_size=SIZE,
        max_model_len=pick(),
    ),
)
"""


@pytest.fixture(autouse=True)
def no_model_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HOME", "/nonexistent")
    monkeypatch.delenv("HF_HUB_CACHE", raising=False)


def read(path: str, text: str) -> list[Launch]:
    reader = reader_for(path, text)
    assert reader is not None
    return reader.launches(text)


def settings(launch: Launch) -> dict[str, object]:
    return {one.written: one.value for one in launch.settings if not one.dynamic}


KNOWN = {
    "model": "Qwen/Qwen3-8B",
    "kv_cache_dtype": "nvfp4",
    "attention_backend": "TRITON_ATTN",
    "tensor_parallel_size": 2,
}


def test_an_application() -> None:
    (launch,) = read("serve.yaml", APPLICATION)
    assert settings(launch) == KNOWN | {"enable_auto_tool_choice": True}
    assert [(one.line, one.column) for one in launch.settings][1] == (9, 25)
    assert launch.gpu is not None
    assert launch.gpu.text == "H100"
    assert launch.environment.keys() == {"VLLM_LOGGING_LEVEL"}


def test_the_application_of_a_service() -> None:
    text = SERVICE + "".join(f"    {line}\n" for line in APPLICATION.splitlines())
    (launch,) = read("service.yaml", text)
    assert [(one.line, one.column) for one in launch.settings][1] == (13, 29)


def test_python() -> None:
    (launch,) = read("app.py", PYTHON)
    assert settings(launch) == KNOWN
    assert [one.written for one in launch.settings if one.dynamic] == ["max_model_len"]
    assert not read("app.py", PYTHON.replace("from ray", "from mine"))
    assert not read("app.py", PYTHON.replace("accelerator_type=", "llm_engine='SGLang', accelerator_type="))
    spread = PYTHON.replace("engine_kwargs=dict(", "engine_kwargs=dict(**more(), ")
    assert [one.written for one in read("app.py", spread)[0].settings if one.dynamic] == ["max_model_len", "**more()"]


@pytest.mark.parametrize(("file", "text"), [("serve.yaml", APPLICATION), ("app.py", PYTHON)])
def test_both_are_judged(file: str, text: str, loaded: LoadedMatrix) -> None:
    scan = scan_text(loaded, file, text, ScanOptions(), None)
    assert [(one.model, one.sm, one.verdict) for one in scan.launches] == [("Qwen/Qwen3-8B", "9.0", "unsupported")]
    assert {d.code for d in scan.diagnostics} == {"selector-kv-cache-dtype"}
    unknown = scan_text(loaded, file, text.replace("kv_cache_dtype", "kv_cache_dtyp"), ScanOptions(), None)
    assert {d.code for d in unknown.diagnostics} == {"launch-unknown-keyword"}


def test_keywords_are_spelled_with_underscores(loaded: LoadedMatrix) -> None:
    scan = scan_text(loaded, "a.yaml", APPLICATION.replace("kv_cache_dtype", "kv-cache-dtype"), ScanOptions(), None)
    assert "launch-unknown-keyword" in [found.code for found in scan.diagnostics]
