"""Sizes of tensor, decode and prefill context parallelism that do not fit each other, through the real command."""

from __future__ import annotations

import pytest

from tests.cli.conftest import Cli
from tests.cli.test_launch_unknowns import ANY, AT, ask, codes


@pytest.mark.parametrize(
    ("sizes", "code", "words"),
    [
        (("-tp", "8", "-dcp", "3"), "launch-dcp-sizes", "tp_size=8 must be divisible by dcp_size=3."),
        (("-tp", "8", "-dcp", "8"), None, None),
        (("-tp", "4", "-pcp", "2", "-dcp", "4"), "launch-dcp-sizes", "valid DCP sizes are [1, 2, 8]."),
        (("-tp", "4", "-pcp", "2", "-dcp", "2"), None, None),
    ],
)
def test_any_model_needs_sizes_that_fit(cli: Cli, sizes: tuple[str, ...], code: str | None, words: str | None) -> None:
    document = ask(cli, *AT, "--", "vllm", "serve", "deepseek-ai/DeepSeek-R1", *sizes)[1]
    found = {f["code"]: f["words"] for f in document["findings"] if f["code"].startswith("launch-dcp")}
    assert set(found) == ({code} if code else set())
    assert words is None or found[str(code)].endswith(words)
    assert code is None or document["verdict"] == "unsupported"


def test_before_pcp_had_axes_only_the_tensor_parallel_size_counted(cli: Cli) -> None:
    sizes = ("-tp", "4", "-pcp", "2", "-dcp", "4")
    model = ("vllm", "serve", "deepseek-ai/DeepSeek-R1")
    assert "launch-dcp-sizes" not in codes(ask(cli, *ANY, "--vllm", "0.25.1", "--", *model, *sizes)[1], "unsupported")
    assert "launch-dcp-sizes" in codes(ask(cli, *ANY, "--vllm", "0.26.0", "--", *model, *sizes)[1], "unsupported")


@pytest.mark.parametrize(
    ("sizes", "words"),
    [
        (("-tp", "4", "-dcp", "2"), "Decode context parallelism for GQA/MQA requires `--tensor-parallel-size` (4)"),
        (("-tp", "16", "-dcp", "4"), "`--decode-context-parallel-size` (4) exceeds the maximum supported value (2)"),
    ],
)
def test_kv_heads_must_fit(cli: Cli, sizes: tuple[str, ...], words: str) -> None:
    said = cli("check", *AT, "--engine-words", "--", "vllm", "serve", "Qwen/Qwen3-32B", *sizes, HF_HOME="/nonexistent")
    assert said.returncode == 1
    assert words in said.stdout


def test_unknown_heads_leave_dcp_open(cli: Cli) -> None:
    command = ("vllm", "serve", "org/unknown", "-tp", "8", "-dcp", "2")
    returncode, document = ask(cli, *AT, "--head-size", "128", "--num-qo-heads", "64", "--", *command)
    assert (returncode, document["missing"]) == (3, ["num_kv_heads"])
