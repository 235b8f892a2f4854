"""Draft models of speculative decoding, through the real command."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Cli
from tests.cli.test_launch_own_backends import at
from tests.cli.test_launch_unknowns import ask, codes

SERVE = ("vllm", "serve", "Qwen/Qwen3-8B", "--speculative-config")
DFLASH = json.dumps({"method": "dflash", "model": "z-lab/Qwen3-8B-DFlash-b16", "num_speculative_tokens": 15})


def test_a_dflash_draft_does_not_take_an_nvfp4_cache(cli: Cli) -> None:
    document = ask(cli, *at("10.0", "0.33.0"), "--", *SERVE, DFLASH, "--kv-cache-dtype", "nvfp4")[1]
    assert document["verdict"] == "unsupported"
    found = {layer["kind"]: layer["verdict"] for layer in document["layers"]}
    assert (found["full_attention"], found["draft_attention"]) == ("supported", "unsupported")


def test_a_causal_draft_and_one_with_a_cache_of_its_own(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "qwen3", "is_causal": True}), "utf-8")
    for more in ({"model": str(tmp_path)}, {"model": "own/draft", "kv_cache_dtype": "auto"}):
        written = json.dumps({"method": "dflash", **more})
        document = ask(cli, *at("10.0", "0.33.0"), "--", *SERVE, written, "--kv-cache-dtype", "nvfp4")[1]
        assert "draft_attention" not in {layer["kind"] for layer in document["layers"]}
        assert "launch-draft-not-judged" in codes(document, "note")


@pytest.mark.parametrize(
    ("config", "told"), [({"method": "eagle3", "model": "own/draft"}, True), ({"method": "ngram"}, False)]
)
def test_the_answer_says_that_a_draft_was_not_looked_at(cli: Cli, config: dict[str, str], told: bool) -> None:
    document = ask(cli, *at("9.0", "0.33.0"), "--", *SERVE, json.dumps(config))[1]
    assert document["verdict"] == "supported"
    assert ("launch-draft-not-judged" in codes(document, "note")) is told
