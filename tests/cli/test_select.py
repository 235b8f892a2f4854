"""compatcheck select, as a user starts it."""

from __future__ import annotations

import json

from tests.cli.conftest import Cli

HERE = {"HF_HOME": "/nonexistent", "HF_HUB_CACHE": "/nonexistent"}


def test_the_order_and_the_pick(cli: Cli) -> None:
    done = cli("select", "--no-host", "--sm", "9.0", "--vllm", "0.33.0", "--head-size", "128")
    assert done.returncode == 0, done.stderr
    assert "decode and prefill: FLASH_ATTN" in done.stdout
    assert "  1. FLASH_ATTN: picked\n  2. FLASHINFER: accepted, tried later\n" in done.stdout


def test_mla_shows_prefill_and_decode(cli: Cli) -> None:
    words = ("--", "vllm", "serve", "deepseek-ai/DeepSeek-V3")
    done = cli("select", "--no-host", "--sm", "10.0", "--vllm", "0.33.0", *words, **HERE)
    assert "MLA decode: " in done.stdout
    assert "MLA prefill: " in done.stdout


def test_why(cli: Cli) -> None:
    arguments = ("select", "--no-host", "--sm", "9.0", "--vllm", "0.33.0", "--head-size", "128", "--why", "flashinfer")
    done = cli(*arguments)
    assert "why not FLASHINFER" in done.stdout
    assert "picked with --kv-cache-dtype nvfp4 (in the command)" in done.stdout
    document = json.loads(cli(*arguments, "--format", "json").stdout)
    assert document["why"]["outranked_by"] == ["FLASH_ATTN"]
    assert document["candidates"][0]["picked"] is True


def test_a_hybrid_model_has_one_selection_for_each_kind(cli: Cli) -> None:
    words = ("--", "vllm", "serve", "google/gemma-4-31B-it")
    done = cli("select", "--no-host", "--sm", "9.0", "--vllm", "0.33.0", "--format", "json", *words, **HERE)
    assert len(json.loads(done.stdout)) == 2


def test_exit_codes(cli: Cli) -> None:
    nothing = cli("select", "--no-host", "--sm", "7.5", "--kv-cache-dtype", "nvfp4", "--head-size", "128")
    assert nothing.returncode == 1
    assert cli("select", "--no-host", "--head-size", "128").returncode == 3
    assert cli("select", "--no-host", "--sm", "9.7").returncode == 2
