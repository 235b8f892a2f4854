"""The configuration classes of an installed transformers, instantiated: what we read is what they say."""

from __future__ import annotations

from typing import Any

import pytest

from compatcheck.launch.layer_kinds import NO_CACHE
from compatcheck.launch.model_config import read_model, text_config
from compatcheck.launch.model_source import families
from compatcheck.matrix.load import LoadedMatrix
from tests.oracle import rows

CONFIG_MAPPING: Any = pytest.importorskip("transformers.models.auto.configuration_auto").CONFIG_MAPPING

FAMILIES = {
    "apertus": (False, 128),
    "arcee": (False, 80),
    "bamba": (False, 128),
    "cohere2": (False, 128),
    "deepseek_v2": (True, 576),
    "deepseek_v3": (True, 576),
    "deepseek_v32": (True, 576),
    "deepseek_v4": (True, 512),
    "ernie4_5": (False, 128),
    "exaone4": (False, 128),
    "falcon_h1": (False, 128),
    "gemma2": (False, 256),
    "gemma3": (False, 256),
    "gemma4": (False, 256),
    "glm4": (False, 128),
    "glm4_moe_lite": (True, 576),
    "glm_moe_dsa": (True, 576),
    "gpt_oss": (False, 64),
    "granite": (False, 128),
    "jamba": (False, 128),
    "kimi_linear": (True, 576),
    "llama": (False, 128),
    "llama4": (False, 128),
    "longcat_flash": (True, 576),
    "minicpm3": (False, 32),
    "minimax_m2": (False, 128),
    "mistral": (False, 128),
    "mistral4": (False, 128),
    "mixtral": (False, 128),
    "nemotron_h": (False, 128),
    "olmo3": (False, 128),
    "phi3": (False, 96),
    "qwen2_5_vl": (False, 128),
    "qwen3": (False, 128),
    "qwen3_5_moe": (False, 256),
    "qwen3_next": (False, 256),
    "qwen3_vl": (False, 128),
    "seed_oss": (False, 128),
    "smollm3": (False, 128),
}
"""Model type -> MLA or not, and the size of a cached head, for the classes' own defaults in vLLM 0.33.0."""


def instance(model_type: str) -> Any:
    if model_type not in CONFIG_MAPPING:
        pytest.skip(f"this transformers has no {model_type}")
    return CONFIG_MAPPING[model_type]()


def test_thirty_families() -> None:
    assert len(FAMILIES) >= 30


@pytest.mark.parametrize("model_type", FAMILIES)
def test_family(model_type: str, loaded: LoadedMatrix) -> None:
    config = instance(model_type)
    whole = config.to_dict()
    inner = config.get_text_config()
    assert text_config(whole)["model_type"] == inner.model_type
    read = read_model(loaded.matrix, "0.33.0", whole)
    assert (read.facts["use_mla"], read.facts["head_size"]) == FAMILIES[model_type]
    types = text_config(whole).get("layer_types")
    if types and not read.facts["use_mla"]:
        counted = {layer.kind: layer.count for layer in read.layers}
        assert sum(count or 0 for count in counted.values()) == len(types)
        for kind in set(types) - NO_CACHE:
            assert counted[kind] == list(types).count(kind)


def test_mla_decisions_equal_the_oracle(loaded: LoadedMatrix) -> None:
    """For every model type of the oracle that transformers knows, with its own class's configuration."""
    compared = 0
    for path in rows.files():
        listed = {row["model_type"]: row["is_deepseek_mla"] for row in rows.read(path, "mla") if row["prof"] == "lora"}
        for model_type, mla in listed.items():
            if model_type not in CONFIG_MAPPING or model_type == "deepseek_v4":
                continue
            whole = CONFIG_MAPPING[model_type]().to_dict()
            text = text_config(whole)
            if text.get("model_type") != model_type:
                continue
            facts = read_model(loaded.matrix, rows.release(path), whole).facts
            assert facts["use_mla"] is (mla and text.get("kv_lora_rank") is not None), (model_type, path.name)
            compared += 1
    assert compared >= 20


def test_the_packaged_table_agrees_with_the_classes() -> None:
    named = ("head_dim", "kv_lora_rank", "qk_nope_head_dim", "qk_rope_head_dim", "v_head_dim", "index_topk")
    compared = 0
    for entry in families().families:
        model_type = entry.config["model_type"]
        if not entry.source.startswith("transformers") or model_type not in CONFIG_MAPPING:
            continue
        real = CONFIG_MAPPING[model_type]().get_text_config().to_dict()
        ours = text_config(entry.config)
        for name in named:
            if ours.get(name) is not None and real.get(name) is not None:
                assert ours[name] == real[name], (entry.family, name)
                compared += 1
    assert compared >= 30
