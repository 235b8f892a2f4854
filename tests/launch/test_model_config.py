"""Model configurations: MLA, head sizes, kinds of layers, and what a checkpoint does to the cache."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from compatcheck.launch.checkpoint import cache_dtype_of_checkpoint, scheme_overrides, weight_quantization
from compatcheck.launch.facts import read_launch
from compatcheck.launch.judge import judge_launch
from compatcheck.launch.layer_kinds import layer_kinds
from compatcheck.launch.model import Launch, Word
from compatcheck.launch.model_config import read_model, text_config
from compatcheck.matrix.load import LoadedMatrix
from compatcheck.resolve.configuration import Configuration
from tests.oracle import rows

FULL, SLIDING, LINEAR = "full_attention", "sliding_attention", "linear_attention"
MLA = {"kv_lora_rank": 512, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128}


@pytest.mark.parametrize("path", rows.files(), ids=rows.release)
def test_every_mla_row_of_the_oracle(path: Any, loaded: LoadedMatrix) -> None:
    seen = 0
    for row in rows.read(path, "mla"):
        seen += 1
        lora = row["prof"] == "lora"
        config: dict[str, Any] = {"model_type": row["model_type"], "head_dim": None if lora else 128}
        config |= {"hidden_size": 7168, "num_attention_heads": 128} if lora else {"hidden_size": 4096}
        config |= MLA if lora else {"num_attention_heads": 32}
        facts = read_model(loaded.matrix, row["vllm"], config).facts
        assert (facts["use_mla"], facts["head_size"]) == (row["is_deepseek_mla"], row["head_size"]), row
    assert seen > 40


def test_mla_takes_the_type_and_the_rank(loaded: LoadedMatrix) -> None:
    config = {"model_type": "deepseek_v3", "num_attention_heads": 128, "hidden_size": 7168}
    assert read_model(loaded.matrix, "0.33.0", config).facts["use_mla"] is False
    assert read_model(loaded.matrix, "0.33.0", config | MLA).facts["head_size"] == 576
    assert read_model(loaded.matrix, "0.33.0", {**config, **MLA, "model_type": "llama"}).facts["use_mla"] is False


def test_mla_switched_off_by_the_environment(loaded: LoadedMatrix) -> None:
    config = {"model_type": "deepseek_v3", "num_attention_heads": 128, **MLA}
    facts = read_model(loaded.matrix, "0.33.0", config, mla_disabled=True).facts
    assert (facts["use_mla"], facts["head_size"]) == (False, 192)


def test_sparse_mla_and_compressed_caches(loaded: LoadedMatrix) -> None:
    sparse = read_model(loaded.matrix, "0.33.0", {"model_type": "deepseek_v32", "index_topk": 2048, **MLA}).facts
    assert (sparse["use_sparse"], sparse["index_topk"]) == (True, 2048)
    rates = {"compressed_sparse_attention": 4, "heavily_compressed_attention": 128}
    types = ["heavily_compressed_attention", "compressed_sparse_attention", "sliding_attention"]
    v4 = {"model_type": "deepseek_v4", "head_dim": 512, "compress_rates": rates, "layer_types": types}
    for config in (v4, {"model_type": "deepseek_v4", "head_dim": 512, "compress_ratios": [128, 4, 0]}):
        facts = read_model(loaded.matrix, "0.33.0", config).facts
        assert (facts["use_mla"], facts["head_size"], facts["compress_ratios"]) == (True, 512, (4, 128))


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ({"num_hidden_layers": 3}, {FULL: 3}),
        ({"layer_types": [SLIDING, FULL] * 2}, {SLIDING: 2, FULL: 2}),
        ({"num_hidden_layers": 48, "full_attention_interval": 4}, {LINEAR: 36, FULL: 12}),
        (
            {"num_hidden_layers": 34, "sliding_window": 1024, "sliding_window_pattern": 6},
            {SLIDING: 29, FULL: 5},
        ),
        ({"num_hidden_layers": 32, "sliding_window": 4096}, {SLIDING: 32}),
        ({"num_hidden_layers": 28, "sliding_window": 4096, "use_sliding_window": False}, {FULL: 28}),
        (
            {"num_hidden_layers": 64, "sliding_window": 4096, "sliding_window_pattern": "LLLG"},
            {SLIDING: 48, FULL: 16},
        ),
        ({"hybrid_override_pattern": "M-M*-"}, {"mamba": 2, "mlp": 2, FULL: 1}),
        ({"hybrid_layer_pattern": [0, 1, 1, 0]}, {FULL: 2, SLIDING: 2}),
        ({"attn_type_list": [0, 0, 1]}, {LINEAR: 2, FULL: 1}),
        ({"num_hidden_layers": 32, "attn_layer_period": 8}, {LINEAR: 28, FULL: 4}),
        (
            {"linear_attn_config": {"full_attn_layers": [4, 8], "kda_layers": [1, 2, 3]}},
            {LINEAR: 3, FULL: 2},
        ),
        (
            {"model_type": "gpt_oss", "num_hidden_layers": 24, "sliding_window": 128},
            {SLIDING: 12, FULL: 12},
        ),
    ],
)
def test_kinds_of_layers(text: dict[str, Any], kinds: dict[str, int]) -> None:
    assert layer_kinds(text) == kinds


def test_kimi_k3_has_24_mla_layers_of_93(loaded: LoadedMatrix) -> None:
    full = list(range(4, 97, 4))
    inner = {"model_type": "kimi_linear", "num_attention_heads": 32, **MLA}
    inner["linear_attn_config"] = {"full_attn_layers": full, "kda_layers": [n for n in range(1, 94) if n not in full]}
    layers = read_model(loaded.matrix, "0.33.0", {"model_type": "kimi_k3", "text_config": inner}).layers
    assert [(layer.kind, layer.count) for layer in layers] == [("mla", 24), ("linear_attention", 70)]


def test_head_sizes_that_differ_by_kind(loaded: LoadedMatrix) -> None:
    text = {
        "head_dim": 256,
        "global_head_dim": 512,
        "num_key_value_heads": 8,
        "num_global_key_value_heads": 2,
        "num_attention_heads": 16,
        "sliding_window": 1024,
        "layer_types": ["sliding_attention"] * 5 + ["full_attention"],
    }
    newer = {k: v for k, v in text.items() if "global" not in k}
    newer["per_layer_config"] = {"05": {"head_dim": 512, "num_key_value_heads": 2}}
    for inner in (text, newer):
        config = {"model_type": "gemma4", "text_config": inner}
        sliding, full = read_model(loaded.matrix, "0.33.0", config).layers
        assert sliding.facts == {"sliding_window": 1024}
        assert full.facts == {"head_size": 512, "num_kv_heads": 2}


def test_sinks_of_some_layers(loaded: LoadedMatrix) -> None:
    config = {
        "model_type": "mimo_v2_flash",
        "head_dim": 192,
        "num_attention_heads": 64,
        "swa_num_key_value_heads": 8,
        "sliding_window": 128,
        "add_swa_attention_sink_bias": True,
        "hybrid_layer_pattern": [0, 1],
    }
    full, sliding = read_model(loaded.matrix, "0.33.0", config).layers
    assert "has_sink" not in full.facts
    assert sliding.facts == {"sliding_window": 128, "num_kv_heads": 8, "has_sink": True}


def test_prefix_language_models_by_release(loaded: LoadedMatrix) -> None:
    config = {"model_type": "moondream3", "head_dim": 64}
    assert "use_mm_prefix" not in read_model(loaded.matrix, "0.20.2", config).facts
    assert read_model(loaded.matrix, "0.21.0", config).facts["use_mm_prefix"]
    assert "use_mm_prefix" not in read_model(loaded.matrix, "0.33.0", config, text_only=True).facts
    assert read_model(loaded.matrix, "0.26.0", config, text_only=True).facts["use_mm_prefix"]
    gemma = {"model_type": "gemma4", "text_config": {"head_dim": 256, "use_bidirectional_attention": "vision"}}
    assert read_model(loaded.matrix, "0.33.0", gemma).facts["use_mm_prefix"]


MODELOPT = {"quant_method": "modelopt", "quant_algo": "NVFP4"}


@pytest.mark.parametrize(
    ("quantization", "release", "becomes"),
    [
        (MODELOPT | {"kv_cache_quant_algo": "NVFP4"}, "0.33.0", "nvfp4"),
        (MODELOPT | {"kv_cache_quant_algo": "NVFP4"}, "0.19.1", None),
        (MODELOPT | {"kv_cache_quant_algo": "FP8"}, "0.19.1", "fp8_e4m3"),
        (MODELOPT | {"kv_cache_scheme": {"dynamic": False, "num_bits": 8, "type": "float"}}, "0.33.0", "fp8_e4m3"),
        (MODELOPT | {"kv_cache_scheme": {"num_bits": 4, "type": "float"}}, "0.20.0", "nvfp4"),
        (MODELOPT | {"kv_cache_quant_algo": "INT8"}, "0.33.0", None),
        (MODELOPT, "0.33.0", None),
        (
            {"producer": {"name": "modelopt"}, "quantization": {"quant_algo": "FP8", "kv_cache_quant_algo": "FP8"}},
            "0.33.0",
            "fp8_e4m3",
        ),
        ({"quant_method": "compressed-tensors", "kv_cache_scheme": {"num_bits": 8, "type": "float"}}, "0.33.0", "fp8"),
        ({"quant_method": "compressed-tensors", "kv_cache_scheme": None}, "0.33.0", None),
        ({"quant_method": "fp8"}, "0.33.0", None),
    ],
)
def test_what_auto_becomes(quantization: dict[str, Any], release: str, becomes: str | None) -> None:
    assert cache_dtype_of_checkpoint(quantization, release) == becomes


def test_a_scheme_won_over_the_option_before_0_22() -> None:
    scheme = {"quant_method": "compressed-tensors", "kv_cache_scheme": {"num_bits": 8, "type": "float"}}
    assert scheme_overrides(scheme, "0.21.0")
    assert not scheme_overrides(scheme, "0.22.0")


@pytest.mark.parametrize(
    ("quantization", "name"),
    [
        (MODELOPT, "modelopt_fp4"),
        ({"quant_method": "modelopt", "quant_algo": "FP8"}, "modelopt"),
        ({"quant_method": "modelopt", "quant_algo": "MXFP8"}, "modelopt_mxfp8"),
        ({"quant_method": "fp8"}, "fp8"),
        ({}, None),
    ],
)
def test_weight_quantization(quantization: dict[str, Any], name: str | None) -> None:
    assert weight_quantization(quantization) == name


def test_the_language_model_of_a_nested_configuration() -> None:
    assert text_config({"model_type": "a", "text_config": {"model_type": "b"}})["model_type"] == "b"
    nested = {"thinker_config": {"text_config": {"model_type": "c", "hidden_size": 1}}}
    assert text_config(nested)["model_type"] == "c"
    assert text_config({"model_type": "a", "vision_config": {"hidden_size": 2}})["model_type"] == "a"


ODD = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 3),
    st.sampled_from([64, 128, 512, 2**40, 1.5, "x", "NVFP4", "modelopt", "llama", "deepseek_v3", "gpt_oss"]),
    st.lists(st.sampled_from([1, 2, "full_attention", "sliding_attention"]), max_size=3),
    st.dictionaries(st.sampled_from(["quant_algo", "targets", "weights"]), st.integers(0, 4), max_size=2),
)
NAMES = st.sampled_from(
    [
        "model_type",
        "head_dim",
        "num_attention_heads",
        "num_key_value_heads",
        "hidden_size",
        "num_hidden_layers",
        "intermediate_size",
        "sliding_window",
        "layer_types",
        "kv_lora_rank",
        "qk_rope_head_dim",
        "qk_nope_head_dim",
        "v_head_dim",
        "index_topk",
        "compress_ratios",
        "compress_rates",
        "quantization_config",
        "text_config",
        "dtype",
        "num_experts",
        "n_shared_experts",
        "q_lora_rank",
        "first_k_dense_replace",
        "per_layer_config",
        "linear_attn_config",
        "hybrid_override_pattern",
        "quant_method",
        "quant_algo",
        "config_groups",
        "ignore",
        "quantized_layers",
    ]
)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    config=st.dictionaries(NAMES, ODD, max_size=10),
    quantization=st.dictionaries(NAMES, ODD, max_size=6),
    ranks=st.sampled_from([1, 3, 8]),
)
def test_any_configuration_is_read_without_a_crash(
    config: dict[str, Any], quantization: dict[str, Any], ranks: int, loaded: LoadedMatrix, tmp_path: Path
) -> None:
    """What a configuration cannot mean is told; a verdict comes out whatever it holds."""
    (tmp_path / "config.json").write_text(json.dumps(config | {"quantization_config": quantization}), "utf-8")
    launch = Launch(program="vllm serve", words=(Word("."), Word("-tp"), Word(str(ranks))), directory=str(tmp_path))
    facts = read_launch(loaded.matrix, launch, Configuration(sm="12.0", engine_version="0.33.0"))
    assert judge_launch(loaded, facts).lead.verdict in ("supported", "degraded", "unsupported", "unknown")


@pytest.mark.parametrize(
    ("text", "missing"),
    [
        ({"layer_types": ["full_attention", "x"]}, ("what layers of kind x are",)),
        ({"layer_types": "full_attention"}, ("what layer_types says of the layers",)),
        ({"layers_block_type": [1, 2]}, ("what layers_block_type says of the layers",)),
        ({"layer_types": ["chunked_attention", "hybrid", "conv", "mamba"]}, ()),
        ({"layer_types": None}, ()),
    ],
)
def test_layers_of_which_nothing_is_known(loaded: LoadedMatrix, text: dict[str, Any], missing: tuple[str, ...]) -> None:
    config = {"model_type": "qwen3", "num_hidden_layers": 4, "num_attention_heads": 8, "head_dim": 128, **text}
    assert read_model(loaded.matrix, "0.33.0", config).missing == missing
