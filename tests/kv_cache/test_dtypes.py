from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compatcheck.kv_cache import (
    DS_MLA_RECORDS,
    KV_DTYPES,
    UnknownSlotSizeError,
    bits_per_element,
    bytes_per_token_head,
    capacity_vs_16bit,
    kv_dtype,
    token_head_bytes,
)
from compatcheck.matrix.load import load

ONE_HEAD_SIZE = sorted(
    name for name, d in KV_DTYPES.items() if d.family in ("nvfp4", "turboquant", "octave", "ultraquant")
)


def arguments(name: str, head_size: int = 128) -> dict[str, Any]:
    """What a dtype needs besides head size 128."""
    if name.startswith("octave"):
        return {"rotary_dim": head_size // 2}
    if name.endswith("ds_mla"):
        return {"ds_mla_record": "deepseek_v3.2"}
    return {}


@pytest.mark.parametrize(
    ("name", "head_size", "options", "k", "v", "padding"),
    [
        ("auto", 128, {}, 256, 256, 0),
        ("auto", 128, {"model_dtype": "float32"}, 512, 512, 0),
        ("float16", 80, {}, 160, 160, 0),
        ("bfloat16", 192, {"head_size_v": 128}, 384, 256, 0),
        ("fp8", 128, {}, 128, 128, 0),
        ("fp8_e5m2", 128, {"model_dtype": "float32"}, 128, 128, 0),
        ("fp8_e4m3", 576, {"mla": True}, 576, 0, 0),
        ("auto", 576, {"mla": True}, 1152, 0, 0),
        # 64 bytes of nibbles and 8 scales on each side
        ("nvfp4", 128, {}, 72, 72, 0),
        ("nvfp4_4over6", 256, {}, 144, 144, 0),
        # data and one float32 a side
        ("int8_per_token_head", 128, {}, 132, 132, 0),
        ("fp8_per_token_head", 192, {"head_size_v": 128}, 196, 132, 0),
        ("int4_per_token_head", 128, {}, 68, 68, 0),
        # MLA: one side, but a pair of scales
        ("int8_per_token_head", 576, {"mla": True}, 584, 0, 0),
        ("int4_per_token_head", 576, {"mla": True}, 296, 0, 0),
        # 512 fp8 + 4 float32 + 64 bfloat16; 512 nibbles + 64 fp8 + 32 scales
        ("fp8_ds_mla", 576, {}, 512 + 16 + 128, 0, 0),
        ("nvfp4_ds_mla", 576, {}, 256 + 64 + 32, 0, 0),
        ("fp8_ds_mla", 512, {"ds_mla_record": "deepseek_v4"}, 448 + 128 + 8, 0, 0),
        ("fp8_ds_mla", 512, {"ds_mla_record": "deepseek_v4.1"}, 512 + 16, 0, 0),
        ("nvfp4_ds_mla", 512, {}, 256 + 32, 0, 0),
        # K fp8 without scales; V nibbles + float16 scale and zero point
        ("turboquant_k8v4", 128, {}, 128, 64 + 4, 0),
        ("turboquant_4bit_nc", 128, {}, 64 + 2, 64 + 4, 0),
        ("turboquant_k3v4_nc", 256, {}, 96 + 2, 128 + 4, 0),
        ("turboquant_3bit_nc", 128, {}, 48 + 2, 48 + 4, 0),
        # 80 elements of 3 bits are 30 bytes; 81 are 30.4, so 31, on both sides
        ("turboquant_3bit_nc", 81, {}, 31 + 2, 31 + 4, 0),
        # 61 + 2 for 4-bit K, 61 + 4 for V: even together; k8v4 at 121 is odd and padded
        ("turboquant_k8v4", 122, {}, 122, 61 + 4, 1),
        ("ultraquant_4bit", 256, {}, 128 + 8, 128 + 8, 0),
        # 64 rotary at 4 bits, 192 at 3 bits, 4 block scales; V 4 bits and one scale; padded to 8
        ("octave_k3v4", 256, {"rotary_dim": 64}, 32 + 72 + 8, 128 + 2, 6),
        ("octave_k3v3", 256, {"rotary_dim": 64}, 32 + 72 + 8, 96 + 2, 6),
        ("octave_k3v3", 256, {"rotary_dim": 256}, 128 + 8, 96 + 2, 6),
        ("octave_k3v3_compact", 256, {}, 96 + 2, 96 + 2, 0),
    ],
)
def test_bytes_from_first_principles(
    name: str, head_size: int, options: dict[str, Any], k: int, v: int, padding: int
) -> None:
    found = token_head_bytes(name, head_size, **options)
    assert (found.k, found.v, found.padding) == (k, v, padding)
    assert found.total == k + v + padding == bytes_per_token_head(name, head_size, side="kv", **options)
    assert bytes_per_token_head(name, head_size, side="k", **options) == k
    assert bytes_per_token_head(name, head_size, side="v", **options) == v


def test_one_side_without_saying_which() -> None:
    assert bytes_per_token_head("nvfp4", 128) == 72
    assert bytes_per_token_head("fp8_ds_mla", 576) == 656
    for name, head_size, options in (
        ("turboquant_k8v4", 128, {}),
        ("bfloat16", 192, {"head_size_v": 128}),
        ("octave_k3v4", 256, {"rotary_dim": 64}),
    ):
        with pytest.raises(ValueError, match="say which is meant with side="):
            bytes_per_token_head(name, head_size, **options)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="side must be"):
        bytes_per_token_head("fp8", 128, side="q")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "bits", "capacity"),
    [
        ("auto", 16, 1),
        ("fp8", 8, 2),
        ("nvfp4", Fraction(9, 2), Fraction(32, 9)),
        ("int8_per_token_head", Fraction(33, 4), Fraction(64, 33)),
        ("turboquant_k8v4", Fraction(49, 8), Fraction(128, 49)),
        ("ultraquant_4bit", Fraction(17, 4), Fraction(64, 17)),
    ],
)
def test_bits_and_capacity_at_head_size_128(name: str, bits: Fraction, capacity: Fraction) -> None:
    assert bits_per_element(name, 128) == bits
    assert capacity_vs_16bit(name, 128) == capacity


def test_capacity_of_the_mla_records() -> None:
    assert capacity_vs_16bit("fp8_ds_mla", 576) == Fraction(1152, 656)
    assert capacity_vs_16bit("nvfp4_ds_mla", 576) == Fraction(1152, 352)


@pytest.mark.parametrize("name", KV_DTYPES)
def test_scales_never_make_a_dtype_smaller_than_its_elements(name: str) -> None:
    head_size = 576 if name.endswith("ds_mla") else 128
    options = arguments(name)
    dtype = kv_dtype(name)
    parts = token_head_bytes(name, head_size, **options)
    if dtype.family != "ds_mla":
        assert 8 * parts.k >= head_size * (dtype.k_bits or 16)
        assert 8 * parts.v >= head_size * (dtype.v_bits or 16)
    assert bits_per_element(name, head_size, **options) * capacity_vs_16bit(name, head_size, **options) == 16


@given(st.sampled_from([n for n in KV_DTYPES if n.startswith("turboquant")]), st.integers(1, 1024))
def test_turboquant_slots_are_even_and_tight(name: str, head_size: int) -> None:
    parts = token_head_bytes(name, head_size)
    dtype = kv_dtype(name)
    assert parts.total % 2 == 0
    assert parts.padding in (0, 1)
    v_data = parts.v - 4
    assert 8 * (v_data - 1) < head_size * (dtype.v_bits or 0) <= 8 * v_data


@given(
    st.sampled_from(["octave_k3v4", "octave_k3v3"]),
    st.integers(1, 8).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n))),
)
def test_octave_grows_with_the_rotary_part_in_steps_of_eight(name: str, blocks: tuple[int, int]) -> None:
    n, rotary = blocks
    flat = token_head_bytes(name, 64 * n, rotary_dim=0)
    found = token_head_bytes(name, 64 * n, rotary_dim=64 * rotary)
    assert found.total % 8 == 0
    assert found.k - flat.k == 8 * rotary  # one more bit for each rotary element
    assert found.v == flat.v


@pytest.mark.parametrize("name", ONE_HEAD_SIZE)
def test_unequal_sides_and_mla_are_not_guessed(name: str) -> None:
    with pytest.raises(UnknownSlotSizeError, match="K and V differ"):
        token_head_bytes(name, 128, head_size_v=64, **arguments(name))
    with pytest.raises(UnknownSlotSizeError, match="no MLA cache"):
        token_head_bytes(name, 576, mla=True)


def test_what_the_source_does_not_settle_is_an_error_with_the_way_out() -> None:
    with pytest.raises(UnknownSlotSizeError, match="pass rotary_dim"):
        token_head_bytes("octave_k3v4", 256)
    with pytest.raises(UnknownSlotSizeError, match="several records fit; say ds_mla_record"):
        token_head_bytes("fp8_ds_mla", 512)
    with pytest.raises(UnknownSlotSizeError, match=r"no record has this head size.*656"):
        token_head_bytes("fp8_ds_mla", 320)
    with pytest.raises(UnknownSlotSizeError, match="no record has this head size"):
        token_head_bytes("fp8_ds_mla", 576, ds_mla_record="deepseek_v4")


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (("nvfp4", 24), "positive multiple of 16"),
        (("ultraquant_4bit", 48), "multiple of 32"),
        (("int4_per_token_head", 81), "even head size"),
        (("octave_k3v3", 96), "multiple of 64"),
        (("octave_k3v3_compact", 192), "power of two"),
        (("fp8", 0), "head_size must be a positive integer"),
        (("fp8", True), "head_size must be a positive integer"),
        (("fp8", 64.0), "head_size must be a positive integer"),
        (("nvfp5", 128), "did you mean 'nvfp4'"),
        (("zzzz", 128), "known are auto"),
    ],
)
def test_bad_arguments(call: tuple[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        token_head_bytes(*call)


def test_bad_options() -> None:
    with pytest.raises(ValueError, match="model_dtype must be"):
        token_head_bytes("auto", 128, model_dtype="fp8")
    with pytest.raises(ValueError, match="rotary_dim of 0 to head_size"):
        token_head_bytes("octave_k3v3", 128, rotary_dim=192)
    with pytest.raises(ValueError, match=r"has the records deepseek_v3\.2, deepseek_v4\.1"):
        token_head_bytes("nvfp4_ds_mla", 576, ds_mla_record="deepseek_v4")
    with pytest.raises(ValueError, match="head_size_v must be"):
        token_head_bytes("fp8", 128, head_size_v=-1)


def test_every_record_is_reachable() -> None:
    for (name, record), (head_size, size) in DS_MLA_RECORDS.items():
        assert bytes_per_token_head(name, head_size, ds_mla_record=record) == size


def test_table_is_complete_and_sourced() -> None:
    assert len(KV_DTYPES) == 22
    for name, dtype in KV_DTYPES.items():
        assert dtype.name == name
        assert "@0.33.0" in dtype.source


FORMULAS = [(name, dtype.bytes_per_token_head) for name, dtype in load().matrix.kv_cache_dtypes.items()]


@pytest.mark.parametrize(("name", "formula"), [(name, formula) for name, formula in FORMULAS if formula is not None])
@pytest.mark.parametrize("head_size", [64, 128, 256])
def test_formulas_of_the_matrix(name: str, formula: str, head_size: int) -> None:
    """What the page of dtypes shows is what is computed here."""
    terms = formula.removeprefix("K: ").split(", V: ")
    for side, term in zip(("k", "v"), terms * (3 - len(terms)), strict=True):
        assert value(term, head_size) == bytes_per_token_head(name, head_size, side=side)  # type: ignore[arg-type]


def value(formula: str, head_size: int) -> Fraction:
    """Return what a formula such as '3D/8 + 2' is for a head size."""
    total = Fraction(0)
    for term in formula.split(" + "):
        factor, head, divisor = term.partition("D")
        total += Fraction(factor or "1") * (Fraction(head_size) / Fraction(divisor[1:] or "1") if head else 1)
    return total


@pytest.mark.parametrize("name", [name for name, dtype in load().matrix.kv_cache_dtypes.items() if dtype.bits])
def test_bits_of_the_matrix(name: str) -> None:
    stated = load().matrix.kv_cache_dtypes[name].bits
    assert stated is not None
    assert bits_per_element(name, 128) == Fraction(stated)
