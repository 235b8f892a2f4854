"""The generated options, against what the released parsers themselves say, and between releases."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from compatcheck.launch.flag_table import (
    SWITCHES,
    history,
    reads_variable,
    release_for,
    releases,
    table,
    variable_history,
    variable_names,
)

OPTIONS: dict[str, dict[str, int | str]] = json.loads(
    (Path(__file__).parents[1] / "data" / "parser-options.json").read_text("utf-8")
)
"""Release -> option string -> number of values, as `vllm.entrypoints...make_arg_parser` of the wheel built it."""
ARITY = {"list": "+", "optional": "?"}


@pytest.mark.parametrize("release", OPTIONS)
def test_every_option_of_the_released_parser_and_no_other(release: str) -> None:
    ours = table(release).spellings
    real = OPTIONS[release]
    assert not real.keys() - ours.keys()
    hidden = {name for name in ours.keys() - real.keys() if name not in ("--help", "-h")}
    # From 0.33.0 on the parser hides --no-enable-x behind --disable-x in its help; it still takes it.
    assert all(name.startswith(("--no-enable-", "--no-disable-")) for name in hidden)
    assert not hidden or release == "0.33.0"
    for name, count in real.items():
        kind = ours[name][0].kind
        assert (0 if kind in SWITCHES else ARITY.get(kind, 1)) == count, name


def test_difference_between_two_releases() -> None:
    old, new = table("0.25.1"), table("0.33.0")
    assert {"--calculate-kv-scales", "--override-attention-dtype"} <= old.flags.keys() - new.flags.keys()
    assert {"--log-level", "--aux-output-config"} <= new.flags.keys() - old.flags.keys()
    assert history("--calculate-kv-scales") == [(None, "0.28.0")]
    assert "--disable-prefix-caching" in new.spellings
    assert "--disable-prefix-caching" not in old.spellings
    assert "nvfp4" not in table("0.19.1").flags["--kv-cache-dtype"].choices
    assert "use_cudnn_prefill" in table("0.18.1").flags["--attention-config"].keys
    assert "use_cudnn_prefill" not in new.flags["--attention-config"].keys


def test_every_release_is_covered_and_placed() -> None:
    assert releases()[0] == "0.18.1"
    assert releases()[-1] == "0.33.0"
    assert release_for("0.33.0rc1") == "0.33.0"
    assert release_for("0.25.1.dev3") == "0.25.1"
    for release in releases():
        assert len(table(release).flags) >= 225


def test_environment_variables_by_release() -> None:
    assert not variable_history("VLLM_ATTENTION_BACKEND")
    assert not variable_history("VLLM_USE_TRTLLM_ATTENTION")
    assert reads_variable("VLLM_MLA_DISABLE", "0.18.1")
    assert reads_variable("VLLM_KV_CACHE_LAYOUT", "0.33.0")
    assert reads_variable("VLLM_USE_FLASHINFER_MOE_FP8", "0.23.0")
    assert not reads_variable("VLLM_USE_FLASHINFER_MOE_FP8", "0.24.0")
    gone = set(variable_names("0.23.0")) - set(variable_names("0.33.0"))
    assert "VLLM_FLASHINFER_MOE_BACKEND" in gone
