"""Models whose attention is not causal, through the real command: encoder-only layers, or an open question."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Cli
from tests.cli.test_launch_unknowns import AT, ask

SHAPE = {"num_attention_heads": 16, "num_key_value_heads": 8, "head_dim": 128, "num_hidden_layers": 4}


def folder(path: Path, config: dict[str, Any]) -> str:
    (path / "config.json").write_text(json.dumps(SHAPE | config), "utf-8")
    return str(path)


@pytest.mark.parametrize(
    "config",
    [
        {"model_type": "qwen2", "is_causal": False},
        {"model_type": "llama", "architectures": ["LlamaBidirectionalModel"]},
        {"model_type": "gemma3_text", "architectures": ["Gemma3TextModel"], "use_bidirectional_attention": True},
    ],
)
def test_bidirectional_models_are_encoders(cli: Cli, tmp_path: Path, config: dict[str, Any]) -> None:
    document = ask(cli, *AT, "--", "vllm", "serve", folder(tmp_path, config), "--attention-backend", "TRITON_MLA")[1]
    assert any("encoder_only" in reason for reason in document["engine_reasons"])


def test_hf_overrides_turn_a_decoder_round(cli: Cli, tmp_path: Path) -> None:
    command = ("vllm", "serve", folder(tmp_path, {"model_type": "qwen3"}), "--attention-backend", "FLASHINFER")
    assert ask(cli, *AT, "--", *command)[1]["verdict"] == "supported"
    document = ask(cli, *AT, "--", *command, "--hf-overrides", '{"is_causal": false}')[1]
    assert document["verdict"] == "unsupported"


def test_a_model_whose_file_is_not_known_leaves_it_open(cli: Cli, tmp_path: Path) -> None:
    model = folder(tmp_path, {"model_type": "own", "is_causal": False})
    returncode, document = ask(cli, *AT, "--", "vllm", "serve", model)
    assert (returncode, document["missing"]) == (3, ["whether attention is causal (attn_type)"])
    assert ask(cli, *AT, "--attn-type", "decoder", "--", "vllm", "serve", model)[0] == 0
