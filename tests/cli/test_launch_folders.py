"""Facts of model folders that families keep under names of their own, through the real command."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Cli
from tests.cli.test_launch_own_backends import at
from tests.cli.test_launch_unknowns import AT, HERE, ask, codes

SHAPE = {"num_attention_heads": 32, "num_hidden_layers": 36, "hidden_size": 4096}


def folder(path: Path, config: dict[str, Any]) -> str:
    (path / "config.json").write_text(json.dumps(config), "utf-8")
    return str(path)


@pytest.mark.parametrize(
    ("config", "heads"),
    [
        ({"model_type": "chatglm", "multi_query_group_num": 2}, 2),
        ({"model_type": "step3p5", "num_attention_groups": 8}, 8),
        ({"model_type": "dbrx", "attn_config": {"kv_n_heads": 8}}, 8),
        ({"model_type": "falcon", "multi_query": True}, 1),
        ({"model_type": "gpt_bigcode"}, 1),
        ({"model_type": "nemotron-nas", "block_configs": [{"attention": {"n_heads_in_group": 8}}]}, 4),
    ],
)
def test_kv_heads_under_other_names(cli: Cli, tmp_path: Path, config: dict[str, Any], heads: int) -> None:
    """A DCP size says the KV heads: with as many ranks as there are, the engine wants more."""
    command = ("vllm", "serve", folder(tmp_path, SHAPE | config), "-tp", str(heads), "-dcp", str(heads))
    document = ask(cli, *AT, "--", *command)[1]
    found = [f for f in document["findings"] if f["code"] == "launch-dcp-gqa"]
    assert [f["required"] for f in found] == ([f"a tensor-parallel size above {heads}"] if heads > 1 else [])
    other = ask(cli, *AT, "--", *command[:3], "-tp", "32", "-dcp", "32")[1]
    (finding,) = [f for f in other["findings"] if f["code"] == "launch-dcp-gqa"] or [{"required": "1"}]
    assert heads == 1 or finding["required"] == f"a DCP size of at most {32 // heads}"


def test_zamba2_names_its_head_size(cli: Cli, tmp_path: Path) -> None:
    model = folder(tmp_path, SHAPE | {"model_type": "zamba2", "attention_head_dim": 160})
    assert "head size 160" in cli("check", *AT, "--", "vllm", "serve", model, **HERE).stdout


def layers_of(cli: Cli, model: str) -> dict[str, int | None]:
    return {layer["kind"]: layer["count"] for layer in ask(cli, *AT, "--", "vllm", "serve", model)[1]["layers"]}


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        (
            {"model_type": "gemma3", "text_config": {"model_type": "gemma3_text", "num_hidden_layers": 34}},
            {"sliding_attention": 29, "full_attention": 5},
        ),
        (
            SHAPE | {"model_type": "qwen2", "use_sliding_window": True, "sliding_window": 512, "max_window_layers": 28},
            {"full_attention": 28, "sliding_attention": 8},
        ),
        (SHAPE | {"model_type": "qwen2", "sliding_window": 512}, {"full_attention": 36}),
        ({"model_type": "falcon_mamba", "num_hidden_layers": 64}, {"mamba": 64}),
    ],
)
def test_kinds_of_layers_from_omitted_keys(
    cli: Cli, tmp_path: Path, config: dict[str, Any], expected: dict[str, int]
) -> None:
    assert layers_of(cli, folder(tmp_path, config)) == expected


def test_a_model_without_attention_needs_no_backend(cli: Cli, tmp_path: Path) -> None:
    model = folder(tmp_path, {"model_type": "mamba", "num_hidden_layers": 48})
    returncode, document = ask(cli, *AT, "--", "vllm", "serve", model, "-tp", "2")
    assert (returncode, document["verdict"], document["missing"]) == (0, "supported", [])


@pytest.mark.parametrize(
    ("kind", "limits", "selected", "missing"),
    [
        ("gemma3", {"image": 0}, "FLASH_ATTN", False),
        ("molmo2", {"image": 0}, "other", False),
        ("molmo2", {"image": 0, "video": 0}, "FLASH_ATTN", False),
        ("umm_like", {"image": 0}, "other", True),
    ],
)
def test_text_only_is_every_input_at_zero(
    cli: Cli, tmp_path: Path, kind: str, limits: dict[str, int], selected: str, missing: bool
) -> None:
    model = folder(tmp_path, SHAPE | {"model_type": kind, "head_dim": 128, "is_mm_prefix_lm": True})
    command = ("vllm", "serve", model, "--limit-mm-per-prompt", json.dumps(limits))
    document = ask(cli, *AT, "--", *command)[1]
    assert ("whether --limit-mm-per-prompt leaves text only (use_mm_prefix)" in document["missing"]) is missing
    if not missing:
        assert (document["selected"] == "FLASH_ATTN") is (selected == "FLASH_ATTN")


@pytest.mark.parametrize("release", ["0.18.1", "0.33.0"])
def test_sparse_models_need_mla(cli: Cli, release: str) -> None:
    command = "VLLM_MLA_DISABLE=1 vllm serve deepseek-ai/DeepSeek-V3.2-Exp -tp 8"
    document = ask(cli, *at("9.0", release), "--", command)[1]
    assert "launch-sparse-needs-mla" in codes(document, "unsupported")


def test_a_model_that_the_release_does_not_have(cli: Cli) -> None:
    command = ("vllm", "serve", "google/gemma-4-E2B-it")
    returncode, document = ask(cli, *at("9.0", "0.18.1"), "--", *command)
    assert (returncode, document["verdict"]) == (3, "unknown")
    assert "whether vLLM 0.18.1 runs Gemma4ForConditionalGeneration (vLLM 0.19.0 brought it)" in document["missing"]
    assert ask(cli, *at("9.0", "0.19.0"), "--", *command)[1]["missing"] == []


DENSE = SHAPE | {"architectures": ["Qwen3ForCausalLM"], "model_type": "qwen3", "num_key_value_heads": 8}
EXPERTS = SHAPE | {"architectures": ["Qwen3MoeForCausalLM"], "model_type": "qwen3_moe", "num_experts": 128}
OPT = SHAPE | {"architectures": ["OPTForCausalLM"], "model_type": "opt"}


@pytest.mark.parametrize(
    ("config", "verdict", "missing"),
    [
        (DENSE | {"intermediate_size": 12288, "vocab_size": 151936}, "supported", []),
        (DENSE | {"intermediate_size": 12290}, "unsupported", []),
        (DENSE | {"vocab_size": 151937}, "supported", []),
        (OPT | {"intermediate_size": 12290}, "unknown", ["intermediate_size 12290"]),
        (EXPERTS | {"intermediate_size": 6143, "moe_intermediate_size": 768}, "supported", []),
        (EXPERTS | {"moe_intermediate_size": 770}, "unknown", ["moe_intermediate_size 770"]),
    ],
)
def test_widths_that_the_ranks_divide(
    cli: Cli, tmp_path: Path, config: dict[str, Any], verdict: str, missing: list[str]
) -> None:
    model = folder(tmp_path, config)
    document = ask(cli, *AT, "--", "vllm", "serve", model, "-tp", "4")[1]
    assert document["verdict"] == verdict
    assert codes(document, "unsupported") == ({"launch-width-not-divisible"} if verdict == "unsupported" else set())
    assert document.get("missing", []) == [f"whether 4 ranks take {one}, which they do not divide" for one in missing]
    assert ask(cli, *AT, "--", "vllm", "serve", model)[1]["verdict"] == "supported"


def test_a_vocabulary_that_the_ranks_do_not_divide(cli: Cli, tmp_path: Path) -> None:
    """It is padded to a multiple of 64 first, which 3 divides only by chance."""
    shape = {"num_attention_heads": 12, "num_key_value_heads": 12, "head_dim": 128, "intermediate_size": 12288}
    model = folder(tmp_path, DENSE | shape | {"vocab_size": 151936})
    document = ask(cli, *AT, "--", "vllm", "serve", model, "-tp", "3")[1]
    assert document["missing"] == ["whether 3 ranks take padded vocab_size 151936, which they do not divide"]


@pytest.mark.parametrize(
    ("names", "open_"),
    [
        ({"architectures": None, "model_type": None}, True),
        ({"architectures": []}, True),
        ({"architectures": ["LlamaForCausalLM"], "model_type": None}, False),
        ({"model_type": "llama"}, False),
    ],
)
def test_a_model_without_a_name(cli: Cli, tmp_path: Path, names: dict[str, Any], open_: bool) -> None:
    document = ask(cli, *AT, "--", "vllm", "serve", folder(tmp_path, SHAPE | names))[1]
    told = ["which model it is (its configuration has neither architectures nor model_type)"]
    assert document.get("missing", []) == (told if open_ else [])
