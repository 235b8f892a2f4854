"""Draft models of speculative decoding, through the real command."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from compatcheck.launch.draft import known_draft
from compatcheck.matrix.load import LoadedMatrix
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


EAGLE = {"model_type": "llama", "head_dim": 128, "num_attention_heads": 32, "num_key_value_heads": 8}


def speculating(cli: Cli, release: str, draft: Mapping[str, object], *more: str) -> dict[str, Any]:
    return ask(cli, *at("9.0", release), "--", *SERVE, json.dumps(draft), *more)[1]


def test_a_draft_at_hand_is_judged_by_its_own_shapes(cli: Cli, tmp_path: Path) -> None:
    draft = {"method": "eagle3", "model": str(tmp_path), "attention_backend": "FLASHINFER"}
    for size, accepted in ((128, True), (80, False)):
        (tmp_path / "config.json").write_text(json.dumps({**EAGLE, "head_dim": size}), "utf-8")
        document = speculating(cli, "0.33.0", draft, "--kv-cache-dtype", "fp8")
        found = {layer["kind"]: layer["verdict"] for layer in document["layers"]}
        assert (found["draft_attention"] == "supported") is accepted
        assert "launch-draft-not-judged" not in codes(document, "note")


def test_a_draft_of_a_known_family(cli: Cli) -> None:
    document = speculating(cli, "0.33.0", {"method": "draft_model", "model": "Qwen/Qwen3-0.6B"})
    assert [(layer["kind"], layer["count"]) for layer in document["layers"]] == [
        ("full_attention", 36),
        ("draft_attention", 28),
    ]


def test_a_non_causal_draft_takes_another_backend_than_its_target(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps({**EAGLE, "model_type": "qwen3"}), "utf-8")
    draft = {"method": "dflash", "model": str(tmp_path)}
    picked = [
        {layer["kind"]: layer["selected"] for layer in speculating(cli, "0.33.0", one)["layers"]}
        for one in (draft, {**draft, "attention_backend": "TRITON_ATTN"})
    ]
    assert picked[0]["draft_attention"] == "FLASH_ATTN"
    assert {one["full_attention"] for one in picked} == {"FLASH_ATTN"}


@pytest.mark.parametrize(
    ("release", "more", "own", "judged"),
    [
        ("0.20.0", (), {}, False),
        ("0.21.0", (), {}, True),
        ("0.33.0", ("--attention-backend", "TRITON_ATTN"), {}, False),
        ("0.33.0", ("--attention-backend", "TRITON_ATTN"), {"attention_backend": "FLASH_ATTN"}, True),
        ("0.33.0", ("--kv-cache-dtype", "turboquant_k8v4"), {}, False),
    ],
)
def test_where_the_selection_of_a_draft_is_known(
    cli: Cli, tmp_path: Path, release: str, more: tuple[str, ...], own: dict[str, str], judged: bool
) -> None:
    (tmp_path / "config.json").write_text(json.dumps(EAGLE), "utf-8")
    document = speculating(cli, release, {"method": "eagle", "model": str(tmp_path), **own}, *more)
    assert ("draft_attention" in {layer["kind"] for layer in document["layers"]}) is judged
    assert ("launch-draft-not-judged" in codes(document, "note")) is not judged


def test_heads_of_a_draft_are_those_of_a_rank(cli: Cli, tmp_path: Path, loaded: LoadedMatrix) -> None:
    (tmp_path / "config.json").write_text(json.dumps(EAGLE), "utf-8")
    found = known_draft({"method": "eagle", "model": str(tmp_path)}, "auto", None, loaded.matrix, "0.33.0", 4, None)
    assert [(layer.facts["num_qo_heads"], layer.facts["num_kv_heads"]) for layer in found] == [(8, 2)]
    (alone,) = known_draft(
        {"model": str(tmp_path), "draft_tensor_parallel_size": 1}, "auto", None, loaded.matrix, "0.33.0", 4, None
    )
    assert alone.facts["num_qo_heads"] == 32
