"""Kinds: whatever lines came before, each gets the verdict that it gets alone, byte for byte."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compatcheck.matrix.load import LoadedMatrix, load
from compatcheck.resolve.configuration import Configuration
from compatcheck.resolve.kinds import FEW, Kinds
from compatcheck.resolve.normalise import ConfigurationError, Normalised, normalise
from compatcheck.resolve.questions import Questions
from compatcheck.resolve.resolver import Resolver
from compatcheck.resolve.verdict import Verdict

SIZES: dict[str, list[Any]] = {
    "kv_cache_dtype": ["auto", "fp8", "FP8", "fp8_e5m2", "nvfp4", "fp8_ds_mla", "bf16", "int8_per_token_head"],
    "head_size": [64, 80, 128, 192, 256, 512, 576],
    "block_size": [1, 16, 32, 64, 128],
    "num_qo_heads": [8, 16, 128],
    "num_kv_heads": [1, 8],
    "kv_lora_rank": [512, 256],
    "qk_nope_head_dim": [128, 64],
    "qk_rope_head_dim": [64, 0],
    "v_head_dim": [128, 512],
}
OTHERS: dict[str, list[Any]] = {
    "sm": ["8.0", "9.0", 90, "10.0", 12.0, "7.5"],
    "engine_version": ["0.33.0", "0.25.1", "0.21.0", "99.0"],
    "flashinfer_version": ["0.6.13", "0.7.2.post1"],
    "backend": ["FLASHINFER", "flashinfer", "FLASH_ATTN", "FLASHMLA", "TRITON_ATTN", "FLASHINFER_MLA", "CUTLASS_MLA"],
    "dtype": ["auto", "bf16", "float16"],
    "use_mla": [True, False],
    "use_sparse": [True, False],
    "has_sink": [True, False],
    "use_dcp": [True, False],
    "sliding_window": [0, 128],
    "compress_ratios": [[1, 4], [128]],
    "model_type": ["deepseek_v32", "qwen3"],
    "cubins_available": [True, False],
}


def sweep(rng: random.Random, lines: int) -> list[dict[str, Any]]:
    """Return lines of a few kinds: the others are drawn once for each kind, the sizes for each line."""
    kinds = [{field: rng.choice(values) for field, values in OTHERS.items() if rng.random() < 0.35} for _ in range(3)]
    named = [[field for field in SIZES if rng.random() < 0.6] for _ in kinds]
    rows = []
    for _ in range(lines):
        at = rng.randrange(len(kinds))
        rows.append(kinds[at] | {field: rng.choice(SIZES[field]) for field in named[at]})
    return rows


@pytest.fixture(scope="module")
def alone() -> Resolver:
    """A resolver that shares nothing with the one that is tested."""
    resolver: Resolver = load().resolver
    return resolver


@pytest.mark.parametrize("few", [True, False], ids=["one by one", "told apart"])
@pytest.mark.parametrize("seed", range(24))
def test_a_line_is_judged_as_it_is_alone(loaded: LoadedMatrix, alone: Resolver, seed: int, few: bool) -> None:
    """Lines of which a kind has few are judged one by one, the others by what tells their sizes apart."""
    rows = sweep(random.Random(seed), 60)
    kinds = Kinds(loaded.resolver)
    encode = msgspec.json.Encoder().encode
    read = [kinds.read(row) for row in rows]
    if not few:
        kinds.expect(read)
    for row, one in zip(rows, read, strict=True):
        normal = normalise(loaded.matrix, msgspec.convert(row, Configuration))
        assert kinds.normalised(one) == normal
        assert encode(kinds.judge(one)) == encode(alone.judge(normal)), row


SELECTED: list[dict[str, Any]] = [
    {"num_qo_heads": 16, "num_kv_heads": 8},  # the rule is asked of the backend that is selected
    {"sm": "8.6", "kv_cache_dtype": "fp8_e5m2", "head_size": 320},
    {"sm": "12.0", "compress_ratios": [128], "backend": None, "head_size": 512, "model_type": "deepseek_v4"},
    {"sm": "9.0", "use_mla": True, "kv_lora_rank": 512, "qk_rope_head_dim": 64, "head_size": 576, "has_sink": True},
]


@pytest.mark.parametrize("base", SELECTED)
@pytest.mark.parametrize("release", ["0.22.0", "0.31.0", "0.33.0"])
def test_rules_are_asked_where_no_backend_is_forced(
    loaded: LoadedMatrix, alone: Resolver, base: dict[str, Any], release: str
) -> None:
    kinds = Kinds(loaded.resolver)
    given = {field: value for field, value in base.items() if value is not None} | {"engine_version": release}
    rows = [
        {"sm": "9.0", "head_size": 128, **given, "num_qo_heads": heads, "num_kv_heads": shared}
        for heads in (4, 16, 128)
        for shared in (1, 8, 16)
    ]
    read = [kinds.read(row) for row in rows]
    kinds.expect(read)
    answers = [kinds.judge(one) for one in read]
    assert answers == [alone.judge(normalise(loaded.matrix, msgspec.convert(row, Configuration))) for row in rows]
    if "compress_ratios" not in given and "use_mla" not in given:
        indivisible = [any(f.code == "vllm-heads-not-divisible" for f in answer.findings) for answer in answers]
        assert indivisible == [row["num_qo_heads"] % row["num_kv_heads"] > 0 for row in rows]


def test_a_spelling_is_known_to_lines_of_every_shape(loaded: LoadedMatrix) -> None:
    """A kind may be given sizes that were read together with other fields: a sweep does so."""
    kinds = Kinds(loaded.resolver)
    kind = kinds.read({"sm": "9.0", "kv_cache_dtype": "auto"})
    other = kinds.read({"sm": "9.0", "has_sink": True, "kv_cache_dtype": "FP8"})
    assert isinstance(kind, tuple)
    assert isinstance(other, tuple)
    assert kinds.normalised((kind[0], other[1])).facts.kv_cache_dtype == "fp8"


def test_what_tells_sizes_apart_is_used(loaded: LoadedMatrix, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lines that nothing tells apart share one verdict, without the resolver being asked again."""
    asked: list[Normalised] = []

    def judge(normal: Normalised) -> Verdict:
        asked.append(normal)
        return judge_alone(normal)

    judge_alone: Callable[[Normalised], Verdict] = loaded.resolver.judge
    monkeypatch.setattr(loaded.resolver, "judge", judge)
    kinds = Kinds(loaded.resolver)
    base = {"sm": "9.0", "backend": "TRITON_ATTN", "engine_version": "0.33.0"}
    rows = [kinds.read(base | {"head_size": 128, "block_size": 16 * n}) for n in range(1, FEW + 2)]
    rows.append(kinds.read(base | {"head_size": 8, "block_size": 16}))
    kinds.expect(rows)
    verdicts = [kinds.judge(row) for row in rows]
    assert asked == []
    assert {id(v) for v in verdicts[:-1]} == {id(verdicts[0])}
    assert verdicts[-1] is not verdicts[0]
    assert verdicts[-1].verdict == "unsupported"


def test_few_lines_of_a_kind_are_judged_one_by_one(loaded: LoadedMatrix, monkeypatch: pytest.MonkeyPatch) -> None:
    kinds = Kinds(loaded.resolver)
    monkeypatch.setattr(Questions, "stages", None)  # not asked at all
    rows = [kinds.read({"sm": "9.0", "has_sink": sink, "head_size": 64}) for sink in (True, False) for _ in range(FEW)]
    kinds.expect(rows)
    assert [kinds.judge(row) for row in rows] == [loaded.resolver.judge(kinds.normalised(row)) for row in rows]


WRONG: list[dict[str, Any]] = [
    {"head_size": True},
    {"head_size": 64.0},
    {"head_size": 0},
    {"kv_cache_dtype": "fp9"},
    {"kv_cache_dtype": 8},
    {"has_sink": 1},
    {"compress_ratios": [True]},
    {"compress_ratios": "4"},
    {"sm": "9.0", "head_sise": 64},
    {"sm": 9.0, "block_size": [16]},
    {"sm": {"a": 1}},
]


@settings(max_examples=60, deadline=None)
@given(rows=st.lists(st.sampled_from(WRONG), min_size=1, max_size=4), good=st.integers(1, 3))
def test_what_equals_a_known_line_is_not_taken_for_it(
    loaded: LoadedMatrix, rows: list[dict[str, Any]], good: int
) -> None:
    """1 == True == 1.0, and a list has no hash: lines that are wrong stay wrong after lines that are right."""
    kinds = Kinds(loaded.resolver)
    right: list[dict[str, Any]] = [
        {"head_size": 64, "has_sink": True, "kv_cache_dtype": "fp8"},
        {"head_size": 1, "compress_ratios": [1]},
        {"sm": "9.0", "block_size": 16},
    ]
    for row in right[:good]:
        kinds.read(row)
    for row in rows:
        with pytest.raises((ConfigurationError, msgspec.ValidationError)):
            kinds.read(right[0] | row)
        with pytest.raises((ConfigurationError, msgspec.ValidationError)):
            kinds.read(row)


def test_defaults_fill_what_a_line_leaves_out(loaded: LoadedMatrix) -> None:
    kinds = Kinds(loaded.resolver, Configuration(sm="8.0", head_size=64))
    assert kinds.normalised(kinds.read({"head_size": 128})).facts.head_size == 128
    facts = kinds.normalised(kinds.read({"kv_cache_dtype": "FP8"})).facts
    assert (facts.sm, facts.head_size, facts.kv_cache_dtype) == ("8.0", 64, "fp8")
