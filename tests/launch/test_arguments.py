"""Our parser against the released one, argument list by argument list, and what it must never do."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compatcheck.launch.arguments import parse_arguments
from compatcheck.launch.flag_table import table
from compatcheck.launch.model import Word
from compatcheck.launch.refusals import of_problem, parser_words

ROWS: list[dict[str, Any]] = [
    json.loads(line)
    for line in (Path(__file__).parents[1] / "data" / "parsed-0.33.0.jsonl").read_text("utf-8").splitlines()
]
"""Arguments, and what vLLM 0.33.0's own parser made of them: values that are not the default, or its error."""

BEYOND = {("--served-model-name", "a")}
"""Refused before parsing: the model must come first."""


def words(texts: list[str]) -> tuple[Word, ...]:
    return tuple(Word(text) for text in texts)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: " ".join(row["words"])[:70])
def test_like_the_released_parser(row: dict[str, Any]) -> None:
    flags = table("0.33.0")
    parsed = parse_arguments(words(row["words"]), flags)
    if tuple(row["words"]) in BEYOND or "pydantic" in row.get("error", ""):
        return  # the latter by the class behind the option: `launch-config-key` is about those
    if "error" in row:
        assert parsed.problems
        return
    assert not parsed.problems
    values = {s.option.removeprefix("--").replace("-", "_"): s.value for s in parsed.settings}
    for name, value in row["values"].items():
        if name == "model_tag":
            ours = parsed.model.text if parsed.model else values.get("model")
            assert ours == value
        elif isinstance(value, dict) and "__class__" in value:
            assert isinstance(values[name], dict)
        elif name == "middleware":
            assert values[name] == value[-1]
        elif flags.flags["--" + name.replace("_", "-")].kind == "size":
            assert values[name] is not None
        elif isinstance(value, list) and all(isinstance(item, int) for item in value):
            assert values[name] == [str(item) for item in value]
        else:
            assert values[name] == value, name


def test_last_of_a_repeated_option_counts() -> None:
    parsed = parse_arguments(words(["m", "--kv-cache-dtype", "fp8", "--kv-cache-dtype=nvfp4"]), table("0.33.0"))
    last = parsed.last("--kv-cache-dtype")
    assert last is not None
    assert last.value == "nvfp4"


def test_dotted_keys_are_one_json_option() -> None:
    parsed = parse_arguments(
        words(["m", "-ac.backend", "FLASHINFER", "--attention-config.use_trtllm_attention=false"]), table("0.33.0")
    )
    setting = parsed.last("--attention-config")
    assert setting is not None
    assert setting.value == {"backend": "FLASHINFER", "use_trtllm_attention": False}


def test_values_known_only_to_the_shell_are_not_judged() -> None:
    parsed = parse_arguments((Word("m"), Word("--dtype"), Word("$DTYPE", dynamic=True)), table("0.33.0"))
    assert not parsed.problems
    assert parsed.settings[0].dynamic


PIECES = st.sampled_from(
    [
        *list(table("0.33.0").spellings)[:120],
        "-ac.backend",
        "-cc.a.b=1",
        "--",
        "-",
        "-O3",
        "-O",
        "--x.y",
        "{}",
        "[",
        "1k",
    ]
)


@settings(max_examples=300, deadline=None)
@given(st.lists(st.one_of(PIECES, st.text(max_size=12)), max_size=12), st.sampled_from(["0.18.1", "0.33.0"]))
def test_any_words_are_read_without_a_crash(texts: list[str], release: str) -> None:
    parsed = parse_arguments(words(texts), table(release))
    for setting in parsed.settings:
        assert setting.option in table(release).flags or setting.option == "--help"


SAID = [row for row in ROWS if row.get("error", "").startswith("vllm")]


@pytest.mark.parametrize("row", SAID, ids=lambda row: " ".join(row["words"])[:70])
def test_the_released_parsers_own_words(row: dict[str, Any]) -> None:
    """What the released parser printed (its first 90 characters or so), or nothing where we do not know its words."""
    flags = table("0.33.0")
    problems = parse_arguments(words(row["words"]), flags).problems
    said = parser_words([of_problem(problem, flags, None, None) for problem in problems])
    silent = any(part in row["error"] for part in ("human_readable_int", "loads value", "ignored ex", "ambiguous"))
    assert (said is None) if silent else (said is not None and said.startswith(row["error"].rstrip()))


def test_folded_choices() -> None:
    """vllm/engine/arg_utils.py:EngineArgs.add_cli_args: these options make a value small and its dashes underscores."""
    for release in ("0.22.0", "0.33.0"):
        flags = table(release)
        for option, text, value in (
            ("--linear-backend", "flashinfer-cudnn", "flashinfer_cudnn"),
            ("--linear-backend", "MARLIN", "marlin"),
            ("--moe-backend", "Flashinfer-TRTLLM", "flashinfer_trtllm"),
        ):
            parsed = parse_arguments((Word("m", 1, 1), Word(option, 1, 3), Word(text, 1, 9)), flags)
            assert not parsed.problems
            assert [s.value for s in parsed.settings] == [value]
    parsed = parse_arguments((Word("--dcp-comm-backend", 1, 1), Word("A2A", 1, 9)), table("0.33.0"))
    assert [p.kind for p in parsed.problems] == ["bad-choice"]


@pytest.mark.parametrize(
    ("value", "open_"),
    [
        ('{"num_speculative_tokens": <K>}', True),
        ('{"sizes": [<sizes of the table>]}', True),
        ('{"method": "<think>"}', False),
        ('{"num_speculative_tokens": K}', False),
    ],
)
def test_a_placeholder_in_json(value: str, open_: bool) -> None:
    parsed = parse_arguments(words(["m", "--speculative-config", value]), table("0.33.0"))
    assert parsed.settings[-1].dynamic is open_
    assert bool(parsed.problems) is (value.endswith(" K}"))
