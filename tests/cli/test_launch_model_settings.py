"""What a release sets for a model family reaches launches, of packaged families and of folders."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Cli
from tests.cli.test_launch_own_backends import at
from tests.cli.test_launch_unknowns import ask


def layers_of(cli: Cli, sm: str, release: str, model: str) -> dict[str, str]:
    document = ask(cli, *at(sm, release), "--", "vllm", "serve", model)[1]
    return {layer["kind"]: layer["selected"] or layer.get("backend") for layer in document["layers"]}


@pytest.mark.parametrize(("sm", "dtype"), [("9.0", "auto"), ("10.0", "fp8_e4m3")])
def test_glm5_has_an_fp8_cache_on_blackwell(cli: Cli, sm: str, dtype: str) -> None:
    document = ask(cli, *at(sm, "0.33.0"), "--", "vllm", "serve", "zai-org/GLM-5", "-tp", "8")[1]
    assert {a["value"] for a in document["assumed"] if a["field"] == "kv_cache_dtype"} == {dtype}


@pytest.mark.parametrize(
    ("release", "sm", "expected"),
    [
        ("0.22.1", "9.0", "TRITON_ATTN"),
        ("0.26.0", "9.0", "FLASH_ATTN"),
        ("0.33.0", "9.0", "TRITON_FLASH_ATTN"),
        ("0.33.0", "12.0", "TRITON_ATTN"),
    ],
)
def test_gemma4_images_attend_both_ways(cli: Cli, release: str, sm: str, expected: str) -> None:
    found = layers_of(cli, sm, release, "google/gemma-4-26B-A4B-it")
    assert found == dict.fromkeys(("sliding_attention", "full_attention"), expected)


def test_small_gemma4_has_no_image_masks(cli: Cli) -> None:
    assert layers_of(cli, "9.0", "0.33.0", "google/gemma-4-E2B-it")["full_attention"] == "FLASH_ATTN"


def test_diffusion_gemma_in_a_folder(cli: Cli, tmp_path: Path) -> None:
    text = {
        "model_type": "diffusion_gemma_text",
        "num_attention_heads": 16,
        "num_key_value_heads": 8,
        "head_dim": 256,
        "global_head_dim": 512,
        "sliding_window": 1024,
        "layer_types": ["sliding_attention", "full_attention"],
    }
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "diffusion_gemma", "text_config": text}), "utf-8")
    document = ask(cli, *at("10.0", "0.33.0"), "--", "vllm", "serve", str(tmp_path))[1]
    settled = {a["field"]: a["value"] for a in document["assumed"]}
    assert (settled["use_non_causal"], settled["flash_attn_version"]) == (True, 4)
    assert {layer["selected"] for layer in document["layers"]} == {"FLASH_ATTN"}
