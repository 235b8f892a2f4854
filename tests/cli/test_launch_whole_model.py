"""What only the whole model decides: the model runner, page sizes, shared layers, recurrent layers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Cli
from tests.cli.test_launch_own_backends import at
from tests.cli.test_launch_unknowns import HERE, ask, codes

MOE = "Qwen/Qwen3-30B-A3B-Thinking-2507"
TURBO = ("--kv-cache-dtype", "turboquant_4bit_nc")
V1 = "launch-turboquant-runner"
PAGES = "launch-pages-do-not-divide"
GEMMA = "google/gemma-4-31B-it"


def served(cli: Cli, release: str, *words: str, sm: str = "8.6", before: tuple[str, ...] = ()) -> dict[str, Any]:
    return ask(cli, *at(sm, release), "--", *before, "vllm", "serve", *words)[1]


@pytest.mark.parametrize(
    ("release", "model", "refused"),
    [
        ("0.24.0", MOE, False),
        ("0.25.0", MOE, True),
        ("0.26.0", MOE, True),
        ("0.27.0", MOE, False),
        ("0.26.0", "Qwen/Qwen3.6-27B", True),
        ("0.26.0", "Qwen/Qwen3-8B", False),
    ],
)
def test_turboquant_on_the_v1_runner(cli: Cli, release: str, model: str, refused: bool) -> None:
    document = served(cli, release, model, *TURBO)
    assert (V1 in codes(document, "unsupported")) is refused
    assert not refused or document["fails_at"] == "init"


@pytest.mark.parametrize(
    ("before", "options", "refused"),
    [
        (("env", "VLLM_USE_V2_MODEL_RUNNER=1"), (), False),
        (("env", "VLLM_USE_V2_MODEL_RUNNER=0"), (), True),
        ((), ("--enable-prompt-embeds",), True),
        ((), ("--speculative-config", '{"method": "ngram", "num_speculative_tokens": 2}'), True),
        ((), ("--speculative-config", '{"method": "eagle3", "num_speculative_tokens": 2}'), False),
    ],
)
def test_what_else_decides_the_runner(
    cli: Cli, before: tuple[str, ...], options: tuple[str, ...], refused: bool
) -> None:
    model = MOE if before and before[1].endswith("=1") else "Qwen/Qwen3-8B"
    document = served(cli, "0.26.0", model, *TURBO, *options, before=before)
    assert (V1 in codes(document, "unsupported")) is refused


def test_listed_mixtures_of_experts_run_on_v2(cli: Cli, tmp_path: Path) -> None:
    config = {"model_type": "qwen2_moe", "architectures": ["Qwen2MoeForCausalLM"], "num_experts": 60}
    config |= {"num_hidden_layers": 24, "num_attention_heads": 16, "num_key_value_heads": 16, "hidden_size": 2048}
    for name, refused in (("Qwen2MoeForCausalLM", False), ("Qwen3MoeForCausalLM", True)):
        (tmp_path / "config.json").write_text(json.dumps({**config, "architectures": [name]}), encoding="utf-8")
        assert (V1 in codes(served(cli, "0.26.0", str(tmp_path), *TURBO), "unsupported")) is refused


@pytest.mark.parametrize(
    ("release", "dtype", "code", "effect"),
    [
        ("0.20.0", "int8_per_token_head", PAGES, "unsupported"),
        ("0.23.0", "fp8_per_token_head", PAGES, "unsupported"),
        ("0.23.0", "fp8", None, "supported"),
        ("0.23.0", "auto", None, "supported"),
        ("0.24.0", "fp8_per_token_head", "launch-padded-pages-scales", "degraded"),
        ("0.25.1", "int8_per_token_head", "launch-padded-pages-scales", "degraded"),
        ("0.26.0", "int8_per_token_head", "launch-padded-pages-open", "degraded"),
        ("0.26.0", "fp8_per_token_head", None, "supported"),
        ("0.28.0", "int8_per_token_head", "launch-padded-pages-open", "supported"),
    ],
)
def test_two_head_sizes_in_one_pool(cli: Cli, release: str, dtype: str, code: str | None, effect: str) -> None:
    document = served(cli, release, GEMMA, "--kv-cache-dtype", dtype, sm="9.0")
    pages = {f["code"] for f in document["findings"] if "pages" in f["code"]}
    assert (pages, document["verdict"]) == ({code} if code else set(), effect)


@pytest.mark.parametrize(
    ("options", "refused"),
    [
        ((), False),
        (("--kv-cache-dtype-skip-layers", "sliding_window"), True),
        (("--kv-cache-dtype-skip-layers", "sliding_window", "--disable-hybrid-kv-cache-manager"), False),
    ],
)
def test_one_head_size_fits_unless_dtypes_are_mixed(cli: Cli, options: tuple[str, ...], refused: bool) -> None:
    words = ("google/gemma-3-4b-it", "--kv-cache-dtype", "int8_per_token_head", *options)
    assert (PAGES in codes(served(cli, "0.23.0", *words), "unsupported")) is refused


@pytest.mark.parametrize(
    ("release", "skipped", "said", "verdict"),
    [
        ("0.20.0", "sliding_window", {"launch-turboquant-skip-names", PAGES}, "unsupported"),
        ("0.31.0", "sliding_window", {"launch-turboquant-skip-names", "launch-turboquant-windows"}, "unsupported"),
        ("0.32.0", "sliding_window", {"launch-turboquant-windows"}, "degraded"),
    ],
)
def test_turboquant_beside_windows(cli: Cli, release: str, skipped: str, said: set[str], verdict: str) -> None:
    words = ("google/gemma-3-4b-it", *TURBO, "--kv-cache-dtype-skip-layers", skipped)
    document = served(cli, release, *words, "--limit-mm-per-prompt", '{"image": 0}')
    found = {f["code"] for f in document["findings"] if f["code"] == PAGES or f["code"].startswith("launch-turboquant")}
    assert (found, document["verdict"]) == (said, verdict)


def test_a_rank_holds_its_share_of_each_kind_of_heads(cli: Cli) -> None:
    document = served(cli, "0.23.0", GEMMA, "--kv-cache-dtype", "int8_per_token_head", "-tp", "2")
    (finding,) = (f for f in document["findings"] if f["code"] == PAGES)
    assert "4160 bytes" in finding["actual"]  # 8 of 16 KV heads, keys and values of 256 + 4
    assert "2064 bytes" in finding["actual"]  # 2 of 4 KV heads, keys and values of 512 + 4


def test_heads_that_only_one_kind_states_leave_sizes_open(cli: Cli, tmp_path: Path) -> None:
    text = {"model_type": "gemma4_text", "head_dim": 256, "global_head_dim": 512, "num_hidden_layers": 12}
    text |= {"sliding_window": 512, "sliding_window_pattern": 6}
    for more, refused in (({}, True), ({"num_global_key_value_heads": 2}, False)):
        config = {"model_type": "gemma4", "text_config": {**text, **more}}
        (tmp_path / "config.json").write_text(json.dumps(config), encoding="utf-8")
        document = served(cli, "0.23.0", str(tmp_path), "--kv-cache-dtype", "int8_per_token_head")
        found = [f["actual"] for f in document["findings"] if f["code"] == PAGES]
        assert bool(found) is refused
        assert all("520 bytes a token and KV head in sliding_attention" in actual for actual in found)


@pytest.mark.parametrize(("shared", "warned"), [(20, True), (0, False)])
def test_shared_layers_reset_scales(cli: Cli, tmp_path: Path, shared: int, warned: bool) -> None:
    text = {"model_type": "gemma4_text", "head_dim": 256, "global_head_dim": 256, "num_hidden_layers": 35}
    text |= {"num_attention_heads": 8, "num_key_value_heads": 1, "sliding_window": 512, "sliding_window_pattern": 5}
    config = {"model_type": "gemma4", "text_config": {**text, "num_kv_shared_layers": shared}}
    (tmp_path / "config.json").write_text(json.dumps(config), encoding="utf-8")
    document = served(cli, "0.33.0", str(tmp_path), "--kv-cache-dtype", "int8_per_token_head")
    assert ("launch-shared-layers-scales" in codes(document, "degraded")) is warned


@pytest.mark.parametrize(
    ("release", "model", "refused"),
    [
        ("0.19.1", "Qwen/Qwen3-Next-80B-A3B-Instruct", False),
        ("0.20.0", "Qwen/Qwen3-Next-80B-A3B-Instruct", True),
        ("0.33.0", "Qwen/Qwen3.6-35B-A3B", True),
        ("0.33.0", "nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-BF16", True),
        ("0.33.0", "Qwen/Qwen3-8B", False),
    ],
)
def test_batch_invariance_and_recurrent_layers(cli: Cli, release: str, model: str, refused: bool) -> None:
    document = served(cli, release, model, sm="9.0", before=("env", "VLLM_BATCH_INVARIANT=1"))
    found = [f for f in document["findings"] if f["code"] == "launch-batch-invariant-recurrent"]
    assert bool(found) is refused
    if refused:
        backend = "MAMBA2_ATTN" if "Nemotron" in model else "GDN_ATTN"
        assert found[0]["words"] == f"VLLM batch_invariant mode is not supported for {backend}."


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (TURBO, "ValueError: Unknown TurboQuant cache dtype: 'auto'. Valid presets: turboquant_k8v4,"),
        (
            (*TURBO, "--attention-backend", "FLASH_ATTN"),
            "Selected backend AttentionBackendEnum.FLASH_ATTN is not valid",
        ),
        ((*TURBO, "--no-such"), "vllm: error: unrecognized arguments: --no-such"),
    ],
)
def test_the_engine_says_what_it_meets_first(cli: Cli, options: tuple[str, ...], said: str) -> None:
    done = cli("check", *at("9.0", "0.26.0"), "--engine-words", "--", "vllm", "serve", MOE, *options, **HERE)
    assert said in done.stdout
    assert len(done.stdout.splitlines()) == 1


def test_a_dense_model_is_served_by_the_runner_that_knows_turboquant(cli: Cli) -> None:
    document = served(cli, "0.26.0", "Qwen/Qwen3-8B", "--kv-cache-dtype", "turboquant_4bit_nc", sm="8.6")
    assert (document["verdict"], document["findings"]) == ("supported", [])
    unknown = served(cli, "0.26.0", "/models/x", "--kv-cache-dtype", "turboquant_4bit_nc", sm="8.6")
    assert "vllm-turboquant-v1-runner" in {f["code"] for f in unknown["findings"]}


def test_what_only_a_known_model_decides_stays_open_without_one(cli: Cli) -> None:
    words = ["--", "vllm", "serve", "./mine", "--kv-cache-dtype", "int8_per_token_head"]
    given = ["--sm", "9.0", "--vllm", "0.23.0", "--model-type", "gemma4", "--no-use-mla", "--head-size", "256"]
    told = cli("check", "--no-host", *given, *words)
    assert (told.returncode, "vllm-per-token-head-pages-not-divisible" in told.stdout) == (1, True)


def test_a_connector_of_which_nothing_is_known_lifts_no_refusal(cli: Cli) -> None:
    connector = '{"kv_connector": "MyConnector", "kv_role": "kv_both"}'
    words = ("--kv-cache-dtype", "int8_per_token_head", "--kv-transfer-config", connector)
    assert served(cli, "0.23.0", GEMMA, *words, sm="9.0")["verdict"] != "supported"


@pytest.mark.parametrize(
    ("release", "model", "before", "options", "fails_at"),
    [
        ("0.26.0", "Qwen/Qwen3-8B", (), (), "init"),
        ("0.26.0", "Qwen/Qwen3-8B", ("env", "VLLM_USE_V2_MODEL_RUNNER=0"), (), "first-request"),
        ("0.26.0", "Qwen/Qwen3-8B", (), ("--runner", "pooling"), "first-request"),
        ("0.26.0", "Qwen/Qwen3-8B", (), ("--enable-prompt-embeds",), "first-request"),
        ("0.26.0", MOE, (), (), "first-request"),
        ("0.26.0", MOE, ("env", "VLLM_USE_V2_MODEL_RUNNER=1"), (), "init"),
        ("0.21.0", "Qwen/Qwen3-8B", (), (), "first-request"),
        ("0.29.0", MOE, (), (), "init"),
        ("0.31.0", "Qwen/Qwen3-8B", (), (), "first-request"),
    ],
)
def test_the_runner_decides_when_it_fails(
    cli: Cli, release: str, model: str, before: tuple[str, ...], options: tuple[str, ...], fails_at: str
) -> None:
    """In eager mode no graph runs a decode; up to 0.30 the V2 runner does, before any request comes."""
    mismatch = ("--attention-backend", "FLEX_ATTENTION", "--kv-cache-dtype", "float16", "--enforce-eager")
    document = served(cli, release, model, *mismatch, *options, before=before)
    assert codes(document, "unsupported") == {"vllm-flex-16bit-mismatch"}
    assert document["fails_at"] == fails_at
