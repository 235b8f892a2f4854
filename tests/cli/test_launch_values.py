"""Values of the wrong kind or out of bounds, as each release's parser and configuration classes take them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Cli
from tests.cli.test_launch_own_backends import at
from tests.cli.test_launch_unknowns import ask, codes, scan

VALUE, PARSER, CHOICE = "launch-config-value", "launch-bad-value", "launch-bad-choice"
MODULE = '{"kv_connector": "X", "kv_role": "kv_both", "kv_connector_module_path": "a"}'


@pytest.mark.parametrize(
    ("options", "code"),
    [
        (("-tp", "0"), VALUE),
        (("--tensor-parallel-size=-2",), VALUE),
        (("--block-size", "0"), VALUE),
        (("--decode-context-parallel-size", "0"), VALUE),
        (("--gpu-memory-utilization", "1.5"), VALUE),
        (("--gpu-memory-utilization", "1"), None),
        (("--max-model-len", "abc"), PARSER),
        (("--max-model-len", "Auto"), None),
        (("--max-num-seqs", "None"), PARSER),
        (("--max-num-active-seqs", "None"), None),
        (("--dtype=",), CHOICE),
        (("--attention-backend=",), None),
        (("--attention-config", '{"flash_attn_version": "two"}'), VALUE),
        (("--attention-config", '{"flash_attn_version": 5}'), VALUE),
        (("--attention-config", '{"flash_attn_version": null}'), None),
        (("--attention-config.flash_attn_version", "3"), None),
        (("--attention-config", '{"use_trtllm_attention": "maybe"}'), VALUE),
        (("--attention-config", '{"use_trtllm_attention": "Off"}'), None),
        (("--attention-config", '{"tokenspeed_mla_min_split_kv": 257}'), VALUE),
        (("--attention-config", '{"tokenspeed_mla_min_split_kv": "3"}'), None),
        (("--attention-config", "[]"), PARSER),
        (("--attention-config", "null"), PARSER),
        (("--attention-config", '"FLASHINFER"'), PARSER),
        (("--kernel-config", '{"linear_backend": 5}'), VALUE),
        (("--gpu-memory-utilization", "nan"), VALUE),
        (("--kv-transfer-config", '{"kv_role": "both"}'), VALUE),
        (("--kv-transfer-config", '{"kv_connector": 5, "kv_role": "kv_both"}'), VALUE),
        (("--kv-transfer-config", '{"kv_connector": "NixlConnector"}'), VALUE),
        (("--kv-transfer-config", '{"kv_connector": "NixlConnector", "kv_role": "kv_both"}'), None),
        (("--kv-transfer-config", MODULE), None),
    ],
)
def test_what_is_refused(cli: Cli, options: tuple[str, ...], code: str | None) -> None:
    document = ask(cli, *at("9.0", "0.33.0"), "--", "vllm", "serve", "Qwen/Qwen3-8B", *options)[1]
    assert codes(document, "unsupported") == ({code} if code else set())
    assert document["verdict"] == ("unsupported" if code else "supported")
    assert not document.get("missing")


@pytest.mark.parametrize(
    ("options", "missing"),
    [
        (("-tp", "0"), "what --tensor-parallel-size 0 means"),
        (("--block-size", "-1"), "what --block-size -1 means"),
        (("--attention-config", '{"backend": 5}'), "what backend 5 means"),
        (("--hf-overrides", "a.function"), "what --hf-overrides 'a.function' means"),
        (("--speculative-config", "[]"), "what --speculative-config [] means"),
        (("--hf-config-path", "/nonexistent"), "the configuration in /nonexistent"),
    ],
)
def test_what_no_bound_refuses_is_open(cli: Cli, options: tuple[str, ...], missing: str) -> None:
    document = ask(cli, *at("9.0", "0.22.0"), "--", "vllm", "serve", "Qwen/Qwen3-8B", *options)[1]
    assert (document["verdict"], document["missing"]) == ("unknown", [missing])


def test_a_release_that_is_only_assumed(cli: Cli) -> None:
    document = ask(cli, "--no-host", "--sm", "9.0", "--", "vllm", "serve", "Qwen/Qwen3-8B", "-tp", "0")[1]
    assert (document["verdict"], document["missing"]) == ("unknown", ["engine_version"])


@pytest.mark.parametrize("per_kind", ['{"full": "FLASH_ATTN"}', '{"full_attention": 5}', "[]"])
def test_backends_of_kinds_that_are_not_known(cli: Cli, per_kind: str) -> None:
    option = ("--attention-config", f'{{"backend_per_kind": {per_kind}}}')
    document = ask(cli, *at("9.0", "0.33.0"), "--", "vllm", "serve", "Qwen/Qwen3-8B", *option)[1]
    assert document["verdict"] == "unknown"
    assert "backend_per_kind" in " ".join(document["missing"])


@pytest.mark.parametrize(
    ("keywords", "code"),
    [
        ("tensor_parallel_size=0", VALUE),
        ("tensor_parallel_size='x'", PARSER),
        ("tensor_parallel_size='0'", VALUE),
        ("tensor_parallel_size='2'", None),
        ("tensor_parallel_size='5'", "launch-heads-not-divisible"),
        ("attention_config={'flash_attn_version': 'two'}", VALUE),
        ("block_size=None", None),
    ],
)
def test_python_keywords(cli: Cli, tmp_path: Path, keywords: str, code: str | None) -> None:
    text = f"from vllm import LLM\nllm = LLM('Qwen/Qwen3-8B', {keywords})\n"
    document = scan(cli, tmp_path / "a.py", text, "--vllm", "0.33.0")[1]
    assert [d["code"] for d in document["diagnostics"]] == ([code] if code else [])
    assert document["launches"][0]["verdict"] == ("unsupported" if code else "supported")


@pytest.mark.parametrize(
    ("name", "release", "open_"),
    [
        ("Nope", "0.33.0", True),
        ("NixlPullConnector", "0.23.0", True),
        ("NixlPullConnector", "0.24.0", False),
        ("P2pNcclConnector", "0.23.0", False),
        ("P2pNcclConnector", "0.24.0", True),
        ("LMCacheConnectorV1", "0.18.1", False),
    ],
)
def test_kv_connectors_that_a_release_registers(cli: Cli, name: str, release: str, open_: bool) -> None:
    config = f'{{"kv_connector": "{name}", "kv_role": "kv_both"}}'
    command = ("vllm", "serve", "Qwen/Qwen3-8B", "--kv-transfer-config", config)
    missing = ask(cli, *at("9.0", release), "--", *command)[1].get("missing", [])
    assert missing == ([f"whether anything registers the KV connector {name}"] if open_ else [])


def test_what_older_releases_do_not_refuse_is_not_called_accepted(cli: Cli) -> None:
    command = ("vllm", "serve", "Qwen/Qwen3-8B", "-tp", "0")
    (finding,) = ask(cli, "--no-host", "--sm", "9.0", "--", *command)[1]["findings"]
    assert finding["message"].endswith("The release is only assumed; it is not refused there by 0.18.1 to 0.22.1.")
    roles = ask(cli, *at("9.0", "0.33.0"), "--", *command[:3], "--kv-transfer-config.kv_role", "both")[1]["findings"]
    assert "one of kv_producer, kv_both, kv_consumer, found" in roles[0]["message"]


@pytest.mark.parametrize(
    ("config", "release", "code"),
    [
        ('{"bogus": 1}', "0.33.0", "launch-config-key"),
        ('{"method": "ngram", "num-speculative-tokens": 2}', "0.33.0", None),
        ('{"kv_cache_dtype": "auto", "method": "ngram", "num_speculative_tokens": 2}', "0.26.0", None),
        ('{"kv_cache_dtype": "auto", "method": "ngram", "num_speculative_tokens": 2}', "0.25.1", "launch-config-key"),
        ('{"method": "nope", "num_speculative_tokens": 2}', "0.33.0", VALUE),
        ('{"method": 5, "num_speculative_tokens": 2}', "0.33.0", VALUE),
        ('{"method": "ngram", "num_speculative_tokens": "x"}', "0.33.0", VALUE),
        ('{"method": "ngram", "num_speculative_tokens": 0}', "0.33.0", VALUE),
        ('{"model": ["a"], "num_speculative_tokens": 2}', "0.33.0", VALUE),
    ],
)
def test_what_the_speculative_configuration_refuses(cli: Cli, config: str, release: str, code: str | None) -> None:
    command = ("vllm", "serve", "Qwen/Qwen3-8B", "--speculative-config", config)
    document = ask(cli, *at("9.0", release), "--", *command)[1]
    assert codes(document, "unsupported") == ({code} if code else set())


def test_a_method_of_some_releases_leaves_the_release_open(cli: Cli) -> None:
    config = '{"method": "medusa", "model": "org/heads", "num_speculative_tokens": 2}'
    command = ("vllm", "serve", "Qwen/Qwen3-8B", "--speculative-config", config)
    document = ask(cli, "--no-host", "--sm", "9.0", "--", *command)[1]
    assert (document["verdict"], document["missing"]) == ("unknown", ["engine_version"])
    assert any("not refused there by 0.18.1 to 0.32.0" in finding["message"] for finding in document["findings"])


@pytest.mark.parametrize(
    ("options", "missing"),
    [
        (("--worker-cls", "auto"), []),
        (("--worker-cls", "a.Worker"), ["what --worker-cls a.Worker does"]),
        (("--model-class-overrides", "{}"), []),
        (
            ("--model-class-overrides", '{"Qwen3ForCausalLM": "a:Model"}'),
            ["what --model-class-overrides a:Model does"],
        ),
    ],
)
def test_classes_that_stand_in_for_the_engines(cli: Cli, options: tuple[str, ...], missing: list[str]) -> None:
    document = ask(cli, *at("9.0", "0.33.0"), "--", "vllm", "serve", "Qwen/Qwen3-8B", *options)[1]
    assert document.get("missing", []) == missing
