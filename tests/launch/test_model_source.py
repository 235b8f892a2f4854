"""Where a model's configuration is found, and what is said where it is not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from compatcheck.launch.facts import read_launch
from compatcheck.launch.model import Launch, Word
from compatcheck.launch.model_source import ModelError, families, family, find_model
from compatcheck.matrix.load import LoadedMatrix
from compatcheck.resolve.configuration import Configuration

CONFIG: dict[str, Any] = {"model_type": "llama", "head_dim": 128, "num_attention_heads": 32, "num_key_value_heads": 8}
NOWHERE = {"HF_HOME": "/nonexistent"}


def folder(path: Path, config: dict[str, Any], separate: dict[str, Any] | None = None) -> Path:
    path.mkdir(parents=True)
    (path / "config.json").write_text(json.dumps(config), "utf-8")
    if separate is not None:
        (path / "hf_quant_config.json").write_text(json.dumps(separate), "utf-8")
    return path


def test_a_folder_and_a_file(tmp_path: Path) -> None:
    folder(tmp_path / "m", CONFIG)
    for name in ("m", "m/config.json"):
        source = find_model(name, str(tmp_path), NOWHERE)
        assert source is not None
        assert source.config == CONFIG
        assert name.split("/")[0] in source.origin


def test_the_local_cache_of_hugging_face(tmp_path: Path) -> None:
    root = tmp_path / "hub" / "models--org--name"
    folder(root / "snapshots" / "0123456789abcdef", CONFIG)
    (root / "refs").mkdir()
    (root / "refs" / "main").write_text("0123456789abcdef", "utf-8")
    for environment in ({"HF_HOME": str(tmp_path)}, {"HF_HUB_CACHE": str(tmp_path / "hub")}):
        source = find_model("org/name", None, environment)
        assert source is not None
        assert "0123456789ab" in source.origin
    assert find_model("../name", None, {"HF_HOME": str(tmp_path)}) is None


def test_the_packaged_table_says_its_source_and_date() -> None:
    source = family("nvidia/DeepSeek-R1-FP4")
    assert source is not None
    assert families().date in source.origin
    assert "transformers 5.24.0" in source.origin
    assert not source.exact
    assert family("deepseek-ai/DeepSeek-R1-Distill-Llama-8B") is None
    assert family("org/unknown") is None


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("deepseek-ai/DeepSeek-R1-0528-Qwen3-8B", None),
        ("zai-org/GLM-4.6V-Flash", None),
        ("Qwen/Qwen3-Embedding-8B", None),
        ("yuhuili/EAGLE-LLaMA3.1-Instruct-8B", None),
        ("z-lab/Qwen3-8B-DFlash-b16", None),
        ("nvidia/Llama-3.1-Nemotron-70B-Instruct-HF", None),
        ("RedHatAI/Llama-3.3-70B-Instruct-quantized.w8a8", "llama"),
        ("meta-llama/Meta-Llama-3.1-8B-Instruct", "llama"),
        ("nvidia/DeepSeek-R1-0528-NVFP4-v2", "deepseek_v3"),
        ("Qwen/Qwen3.5-397B-A17B", "qwen3_5_moe"),
        ("Qwen/Qwen3.5-27B", "qwen3_5"),
        ("moonshotai/Kimi-K2-Instruct-0905", "kimi_k2"),
        ("openai/gpt-oss-20b", "gpt_oss"),
        ("zai-org/GLM-5.2-FP8", "glm_moe_dsa"),
        ("google/gemma-3-12b-it", "gemma3"),
        ("microsoft/Phi-3-mini-4k-instruct", "phi3"),
        ("microsoft/phi-4", "phi3"),
        ("microsoft/Phi-4-mini-instruct", None),
        ("mistralai/Ministral-3-8B-Instruct-2512", "mistral3"),
        ("XiaomiMiMo/MiMo-V2.5", "mimo_v2"),
        ("XiaomiMiMo/MiMo-V2.5-Pro", None),
        ("unsloth/Qwen3.8-27B-NVFP4", "qwen3_5"),
    ],
)
def test_a_derived_model_is_not_of_the_family_in_its_name(name: str, expected: str | None) -> None:
    source = family(name)
    assert (source.config["model_type"] if source is not None else None) == expected


@pytest.mark.parametrize(
    ("name", "layers", "size"),
    [
        ("google/gemma-3-12b-it", {"sliding_attention": 40, "full_attention": 8}, 256),
        ("google/gemma-3-27b-it", {"sliding_attention": 52, "full_attention": 10}, 128),
        ("microsoft/Phi-3-mini-4k-instruct", {"full_attention": 32}, 96),
        ("microsoft/phi-4", {"full_attention": 40}, 128),
        ("XiaomiMiMo/MiMo-V2.5", {"full_attention": 9, "sliding_attention": 39}, 192),
        ("Qwen/Qwen3.8-27B", {"linear_attention": 48, "full_attention": 16}, 256),
        ("google/gemma-4-E2B-it", {"sliding_attention": 28, "full_attention": 7}, 256),
        ("google/gemma-4-E4B-it", {"sliding_attention": 35, "full_attention": 7}, 256),
        ("zai-org/GLM-5.2", {"mla": 78}, 576),
    ],
)
def test_shapes_of_families(loaded: LoadedMatrix, name: str, layers: dict[str, int], size: int) -> None:
    facts = read_launch(loaded.matrix, launch(name, directory="."), Configuration(engine_version="0.33.0"))
    assert {layer.kind: layer.count for layer in facts.layers} == layers
    assert facts.configuration.head_size == size


@pytest.mark.parametrize(("ranks", "heads"), [("1", 64), ("8", 8)])
def test_query_heads_of_a_family(loaded: LoadedMatrix, ranks: str, heads: int) -> None:
    command = launch("XiaomiMiMo/MiMo-V2.5", "--tensor-parallel-size", ranks, directory=".")
    facts = read_launch(loaded.matrix, command, Configuration(engine_version="0.33.0"))
    assert facts.configuration.num_qo_heads == heads


def test_every_family_has_a_source_and_shapes() -> None:
    table = families()
    assert len(table.families) >= 30
    for entry in table.families:
        assert entry.source
        assert entry.config.get("model_type")
        assert all(pattern == pattern.lower() for pattern in entry.ids)


@pytest.mark.parametrize("data", [b"{", b"[1]", b"\xff\xfe", b"[" * 100_000])
def test_an_unreadable_configuration(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "m"
    path.mkdir()
    (path / "config.json").write_bytes(data)
    with pytest.raises(ModelError, match=r"config\.json"):
        find_model("m", str(tmp_path), NOWHERE)


@pytest.mark.parametrize("name", ["", "a\x00b", "x" * 5000, "/dev/null", "~", "a/b/c"])
def test_odd_names_are_just_unknown(name: str) -> None:
    assert find_model(name, None, NOWHERE) is None


def launch(*words: str, directory: str) -> Launch:
    return Launch(program="vllm serve", words=tuple(Word(word) for word in words), directory=directory)


def test_an_nvfp4_checkpoint_turns_auto_into_nvfp4(tmp_path: Path, loaded: LoadedMatrix) -> None:
    quantization = {"quant_method": "modelopt", "quant_algo": "NVFP4", "kv_cache_quant_algo": "NVFP4"}
    folder(tmp_path / "m", CONFIG | {"quantization_config": quantization})
    facts = read_launch(loaded.matrix, launch("m", directory=str(tmp_path)), Configuration(engine_version="0.33.0"))
    assert facts.configuration.kv_cache_dtype == "nvfp4"
    assert facts.configuration.weight_quantization == "modelopt_fp4"
    assert any(a.field == "kv_cache_dtype" and "checkpoint" in a.ground for a in facts.assumed)
    explicit = launch("m", "--kv-cache-dtype", "fp8", directory=str(tmp_path))
    assert read_launch(loaded.matrix, explicit).configuration.kv_cache_dtype == "fp8"


def test_hf_quant_config_of_old_modelopt(tmp_path: Path, loaded: LoadedMatrix) -> None:
    separate = {"producer": {"name": "modelopt"}, "quantization": {"quant_algo": "FP8", "kv_cache_quant_algo": "FP8"}}
    folder(tmp_path / "m", CONFIG, separate)
    facts = read_launch(loaded.matrix, launch("m", directory=str(tmp_path)))
    assert facts.configuration.kv_cache_dtype == "fp8_e4m3"
    assert facts.configuration.weight_quantization == "modelopt"


def test_tensor_parallelism_shards_and_repeats_heads(tmp_path: Path, loaded: LoadedMatrix) -> None:
    folder(tmp_path / "m", CONFIG)
    for ranks, heads in (("1", (32, 8)), ("4", (8, 2)), ("16", (2, 1))):
        facts = read_launch(loaded.matrix, launch("m", "-tp", ranks, directory=str(tmp_path))).configuration
        assert (facts.num_qo_heads, facts.num_kv_heads) == heads
    odd = read_launch(loaded.matrix, launch("m", "-tp", "7", directory=str(tmp_path)))
    assert [placed.finding.code for placed in odd.findings] == ["launch-heads-not-divisible"]


@pytest.mark.parametrize(
    ("ranks", "dcp", "required"),
    [
        ("8", "2", "a tensor-parallel size above 8"),
        ("16", "4", "a DCP size of at most 2"),
        ("64", "8", "a DCP size that divides 4"),
        ("32", "4", None),
        ("32", "1", None),
    ],
)
def test_context_parallelism_fits_the_heads(
    tmp_path: Path, loaded: LoadedMatrix, ranks: str, dcp: str, required: str | None
) -> None:
    folder(tmp_path / "m", CONFIG)
    facts = read_launch(
        loaded.matrix, launch("m", "-tp", ranks, "--decode-context-parallel-size", dcp, directory=str(tmp_path))
    )
    found = [placed.finding.required for placed in facts.findings if placed.finding.code == "launch-dcp-gqa"]
    assert found == ([required] if required else [])


def test_overrides_change_the_configuration(tmp_path: Path, loaded: LoadedMatrix) -> None:
    folder(tmp_path / "m", CONFIG)
    words = ("m", "--hf-overrides", '{"head_dim": 256}')
    assert read_launch(loaded.matrix, launch(*words, directory=str(tmp_path))).configuration.head_size == 256


def test_a_config_file_of_options(tmp_path: Path, loaded: LoadedMatrix) -> None:
    (tmp_path / "serve.yaml").write_text(
        "kv-cache-dtype: fp8\nattention_config:\n  backend: FLASHINFER\nblock-size: 32\nenforce-eager: true\n",
        "utf-8",
    )
    words = ("m", "--config", "serve.yaml", "--block-size", "64")
    facts = read_launch(loaded.matrix, launch(*words, directory=str(tmp_path)))
    configuration = facts.configuration
    assert (configuration.kv_cache_dtype, configuration.backend, configuration.block_size) == ("fp8", "FLASHINFER", 64)
    missing = read_launch(loaded.matrix, launch("m", "--config", "other.yaml", directory=str(tmp_path)))
    assert [r.status for r in missing.reports if r.name == "--config"] == ["not relevant", "unknown"]
