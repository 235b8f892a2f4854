"""Models whose layers make their own backend and never ask the selector, through the real command."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Cli
from tests.cli.test_launch_unknowns import HERE, ask, codes

V4 = ("vllm", "serve", "deepseek-ai/DeepSeek-V4-Flash", "--block-size", "256", "--kv-cache-dtype")
MIMO = ("vllm", "serve", "XiaomiMiMo/MiMo-V2-Flash")


def at(sm: str, release: str) -> tuple[str, ...]:
    return ("--no-host", "--sm", sm, "--vllm", release)


@pytest.mark.parametrize(
    ("release", "sm", "dtype", "verdict", "backend"),
    [
        ("0.33.0", "9.0", "fp8", "supported", "FLASHMLA_SPARSE_DSV4"),
        ("0.33.0", "10.0", "auto", "supported", "FLASHMLA_SPARSE_DSV4"),
        ("0.33.0", "12.0", "fp8", "supported", "FLASHINFER_MLA_SPARSE_DSV4"),
        ("0.33.0", "9.0", "bfloat16", "unsupported", "FLASHMLA_SPARSE_DSV4"),
        ("0.24.0", "9.0", "auto", "unsupported", "FLASHMLA_SPARSE_DSV4"),
        ("0.21.0", "9.0", "fp8", "supported", "FLASHMLA_SPARSE"),
        ("0.21.0", "12.0", "fp8", "unsupported", "FLASHMLA_SPARSE"),
    ],
)
def test_deepseek_v4(cli: Cli, release: str, sm: str, dtype: str, verdict: str, backend: str) -> None:
    document = ask(cli, *at(sm, release), "--", *V4, dtype)[1]
    assert document["verdict"] == verdict
    text = cli("check", *at(sm, release), "--", *V4, dtype, **HERE).stdout
    assert f"  {backend}," in text.splitlines()[0]


def test_select_names_the_backend_that_the_model_makes(cli: Cli) -> None:
    done = cli("select", *at("12.1", "0.33.0"), "--", *V4, "fp8", **HERE)
    assert done.returncode == 0
    assert "FLASHINFER_MLA_SPARSE_DSV4 is what vLLM 0.33.0 sets for deepseek_v4" in done.stdout
    other = cli("select", *at("9.0", "0.33.0"), "--backend", "FLASHINFER", "--head-size", "128", **HERE)
    assert "FLASHINFER is forced" in other.stdout


@pytest.mark.parametrize(
    ("release", "sm", "words", "backend"),
    [
        ("0.33.0", "9.0", (), "FLASH_ATTN_DIFFKV"),
        ("0.33.0", "12.0", (), "TRITON_ATTN_DIFFKV"),
        ("0.33.0", "9.0", ("--attention-backend", "FLASHINFER"), "FLASH_ATTN_DIFFKV"),
        ("0.33.0", "9.0", ("--attention-backend", "TRITON_ATTN_DIFFKV"), "TRITON_ATTN_DIFFKV"),
        ("0.22.1", "12.0", (), "FLASH_ATTN_DIFFKV"),
    ],
)
def test_mimo(cli: Cli, release: str, sm: str, words: tuple[str, ...], backend: str) -> None:
    text = cli("check", *at(sm, release), "--", *MIMO, *words, **HERE).stdout
    assert f"  {backend}," in text.splitlines()[0]


@pytest.mark.parametrize(
    ("release", "sm", "words", "verdict", "rule"),
    [
        ("0.33.0", "9.0", (), "degraded", "vllm-static-sinks-misplaced"),
        ("0.26.0", "9.0", ("--attention-backend", "FLASHINFER"), "degraded", "vllm-static-sinks-misplaced"),
        ("0.25.1", "9.0", (), "supported", None),
        ("0.25.1", "12.0", (), "unsupported", "vllm-flash-attn-diffkv-fa2"),
        ("0.19.1", "9.0", (), "unsupported", "vllm-diffkv-cache-update"),
    ],
)
def test_openpangu_with_sinks(
    cli: Cli, tmp_path: Path, release: str, sm: str, words: tuple[str, ...], verdict: str, rule: str | None
) -> None:
    config = {"architectures": ["PanguProMoEV2ForCausalLM"], "model_type": "PanguProMoE", "hidden_size": 4608}
    config |= {"num_attention_heads": 64, "num_key_value_heads": 4, "num_hidden_layers": 50, "torch_dtype": "bfloat16"}
    config |= {"qk_nope_dim": 128, "qk_rope_dim": 64, "v_channels": 128, "param_sink_number": 128}
    (tmp_path / "config.json").write_text(json.dumps(config))
    launch = ("vllm", "serve", str(tmp_path), *words)
    document = ask(cli, *at(sm, release), "--", *launch)[1]
    assert document["verdict"] == verdict
    text = cli("check", *at(sm, release), "--", *launch, **HERE).stdout
    assert "  FLASH_ATTN_DIFFKV," in text.splitlines()[0]
    assert "head size 192" in text.splitlines()[0]
    assert rule is None or f"[{rule}]" in text


@pytest.mark.parametrize(
    ("release", "sm", "backend"),
    [
        ("0.33.0", "9.0", "FLASHMLA_SPARSE_DSV41"),
        ("0.33.0", "10.0", "FLASHMLA_MEGA_ATTN_DSV41"),
        ("0.30.0", "10.0", "FLASHMLA_SPARSE_DSV41"),
        ("0.33.0", "12.0", "FLASHINFER_MLA_SPARSE_DSV41"),
    ],
)
def test_deepseek_v41(cli: Cli, tmp_path: Path, release: str, sm: str, backend: str) -> None:
    config = {
        "model_type": "deepseek_v41",
        "num_attention_heads": 64,
        "head_dim": 512,
        "qk_rope_head_dim": 64,
        "index_topk": 512,
        "compress_ratios": [4, 128],
    }
    (tmp_path / "config.json").write_text(json.dumps(config), "utf-8")
    text = cli("check", *at(sm, release), "--", "vllm", "serve", str(tmp_path), "--kv-cache-dtype", "fp8").stdout
    assert f"  {backend}," in text.splitlines()[0]


@pytest.mark.parametrize(
    ("sm", "dtype", "verdict"),
    [("10.0", "nvfp4", "supported"), ("9.0", "nvfp4", "unsupported"), ("9.0", "fp8", "unknown")],
)
def test_sparse_layers_of_minimax_m3(cli: Cli, tmp_path: Path, sm: str, dtype: str, verdict: str) -> None:
    config = {
        "model_type": "minimax_m3_vl",
        "text_config": {
            "model_type": "minimax_m3",
            "num_hidden_layers": 4,
            "num_attention_heads": 64,
            "num_key_value_heads": 4,
            "head_dim": 128,
            "sparse_attention_config": {"sparse_attention_freq": [0, 1, 1, 1], "sparse_topk_blocks": 16},
        },
    }
    (tmp_path / "config.json").write_text(json.dumps(config), "utf-8")
    command = ("vllm", "serve", str(tmp_path), "--kv-cache-dtype", dtype)
    document = ask(cli, *at(sm, "0.33.0"), "--", *command)[1]
    layer = next(layer for layer in document["layers"] if layer["kind"] == "sparse_attention")
    assert (layer["count"], layer["verdict"]) == (3, verdict)


@pytest.mark.parametrize(
    ("options", "verdict"),
    [
        (("--attention-backend", "CUSTOM"), "unknown"),
        (("--attention-backend=custom", "-tp", "2"), "unknown"),
        (("--attention-config", '{"backend": "custom"}'), "unknown"),
        (("--attention-config", '{"backend_per_kind": {"full_attention": "CUSTOM"}}'), "unknown"),
        (
            ("--attention-config", '{"backend": "CUSTOM", "backend_per_kind": {"full_attention": "FLASH_ATTN"}}'),
            "supported",
        ),
        (("--attention-config", '{"backend_per_kind": {"full_attention": "COSTUM"}}'), "unsupported"),
        (("--attention-backend", "TORCH_SDPA"), "unsupported"),
    ],
)
def test_a_backend_that_a_plugin_registers(cli: Cli, options: tuple[str, ...], verdict: str) -> None:
    document = ask(cli, *at("9.0", "0.33.0"), "--", "vllm", "serve", "Qwen/Qwen3-8B", *options)[1]
    assert document["verdict"] == verdict
    opened = ["what the plugin registers as CUSTOM"] if verdict == "unknown" else []
    assert document.get("missing", []) == opened
    assert ("launch-plugin-backend" in codes(document, "note")) is bool(opened)
