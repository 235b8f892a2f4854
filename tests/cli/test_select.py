"""compatcheck select, as a user starts it."""

from __future__ import annotations

import json
from pathlib import Path

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


def test_a_forced_backend_is_told(cli: Cli) -> None:
    arguments = ("select", "--no-host", "--sm", "9.0", "--vllm", "0.33.0", "--head-size", "128", "--backend")
    accepted = cli(*arguments, "FLASHINFER")
    assert (accepted.returncode, "FLASHINFER is forced, and the engine accepts it" in accepted.stdout) == (0, True)
    refused = cli(*arguments, "CUTLASS_MLA")
    assert refused.returncode == 1
    assert "CUTLASS_MLA is forced, and the engine refuses it: head_size not supported" in refused.stdout
    document = json.loads(cli(*arguments, "CUTLASS_MLA", "--format", "json").stdout)
    assert (document["forced"]["name"], document["forced"]["accepted"]) == ("CUTLASS_MLA", False)
    words = ("--", "vllm", "serve", "Qwen/Qwen3-8B", "--attention-backend", "FLASHINFER")
    launched = cli("select", "--no-host", "--sm", "9.0", "--vllm", "0.33.0", *words, **HERE)
    assert "FLASHINFER is forced" in launched.stdout


def test_a_name_that_no_release_has(cli: Cli) -> None:
    done = cli("select", "--no-host", "--sm", "9.0", "--head-size", "128", "--why", "FLASHINFR")
    assert (done.returncode, done.stdout) == (2, "")
    assert "no release has a backend FLASHINFR. Did you mean FLASHINFER?" in done.stderr


def test_nothing_picked_is_a_finding_in_every_form(cli: Cli) -> None:
    arguments = ("select", "--no-host", "--sm", "7.5", "--vllm", "0.33.0")
    assert cli(*arguments, "--kv-cache-dtype", "nvfp4", "--head-size", "128", "--format", "json").returncode == 1
    words = ("--", "vllm", "serve", "Qwen/Qwen3-8B", "--kv-cache-dtype", "nvfp4")
    done = cli(*arguments, *words, **HERE)
    assert (done.returncode, "decode and prefill: nothing" in done.stdout) == (1, True)


def test_a_launch_that_does_not_get_as_far(cli: Cli) -> None:
    words = ("--", "vllm", "serve", "Qwen/Qwen3-8B")
    done = cli("select", "--no-host", "--sm", "9.0", "--vllm", "0.33.0", *words, "-tp", "banana", **HERE)
    assert (done.returncode, "error[launch-bad-value]" in done.stderr) == (1, True)
    done = cli("select", "--no-host", "--sm", "9.0", "--vllm", "0.33.0", *words, "--config", "gone.yaml", **HERE)
    assert (done.returncode, "not known: the options in gone.yaml" in done.stderr) == (3, True)


def test_an_older_gpu_is_unknown_in_every_command(cli: Cli, tmp_path: Path) -> None:
    said = "SM 7.0 is not covered; the matrix knows SM 7.5"
    asked = ("--no-host", "--gpu", "V100", "--head-size", "128")
    for command in (("check", *asked), ("select", *asked), ("check", *asked, "--", "vllm", "serve", "Qwen/Qwen3-8B")):
        done = cli(*command)
        assert (done.returncode, done.stderr) == (3, "")
        assert said in done.stdout
    (tmp_path / "run.sh").write_text("vllm serve Qwen/Qwen3-8B\n", encoding="utf-8")
    assert "1 unknown" in cli("scan", "run.sh", "--sm", "V100").stderr
    probed = cli("probe", "--gpu", "V100", "--gpu", "T4", "--format", "json")
    assert "the matrix has nothing on SM 7.0" in probed.stderr
    assert {table["sm"] for table in json.loads(probed.stdout)["support"]} == {"7.5"}
