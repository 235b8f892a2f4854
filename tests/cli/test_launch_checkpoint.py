"""KV-cache schemes of compressed-tensors checkpoints, through the real command."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Cli
from tests.cli.test_launch_own_backends import at
from tests.cli.test_launch_unknowns import ask, codes

FP8 = {"num_bits": 8, "type": "float", "strategy": "tensor", "symmetric": True}


def folder(path: Path, scheme: dict[str, Any], key: str = "quantization_config") -> str:
    config = {
        "model_type": "llama",
        "num_attention_heads": 32,
        "num_key_value_heads": 8,
        "head_dim": 128,
        "num_hidden_layers": 32,
        key: {"quant_method": "compressed-tensors", "kv_cache_scheme": scheme},
    }
    (path / "config.json").write_text(json.dumps(config), "utf-8")
    return str(path)


@pytest.mark.parametrize(
    ("release", "scheme", "refused"),
    [
        ("0.33.0", FP8, False),
        ("0.33.0", FP8 | {"type": "int"}, True),
        ("0.33.0", FP8 | {"num_bits": 4}, True),
        ("0.33.0", FP8 | {"symmetric": False}, True),
        ("0.33.0", FP8 | {"strategy": "channel"}, True),
        ("0.22.1", FP8 | {"num_bits": 4}, False),
        ("0.22.1", FP8 | {"num_bits": 4, "type": "int"}, True),
    ],
)
def test_a_scheme_that_the_release_does_not_load(
    cli: Cli, tmp_path: Path, release: str, scheme: dict[str, Any], refused: bool
) -> None:
    document = ask(cli, *at("9.0", release), "--", "vllm", "serve", folder(tmp_path, scheme))[1]
    assert ("launch-kv-cache-scheme" in codes(document, "unsupported")) is refused


def test_the_older_key_is_read(cli: Cli, tmp_path: Path) -> None:
    model = folder(tmp_path, FP8, "compression_config")
    document = ask(cli, *at("9.0", "0.33.0"), "--", "vllm", "serve", model)[1]
    assert [a["value"] for a in document["assumed"] if a["field"] == "kv_cache_dtype"] == ["fp8"]
