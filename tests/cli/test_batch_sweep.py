"""Sweeps: a line that is known by its parts is read as it would be in full, and no other line is taken for known."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compatcheck.cli.batch import _read
from compatcheck.cli.batch_sweep import Sweep
from compatcheck.matrix.load import LoadedMatrix
from compatcheck.resolve.configuration import Configuration
from compatcheck.resolve.kinds import Kinds, Row
from compatcheck.resolve.normalise import ConfigurationError


class InFull(Sweep):
    """Knows no line."""

    def row(self, line: bytes) -> Row | None:
        return None


class Counting(Sweep):
    """Counts the lines that it knows."""

    def __init__(self) -> None:
        super().__init__()
        self.known = 0

    def row(self, line: bytes) -> Row | None:
        row = super().row(line)
        self.known += row is not None
        return row


def read(loaded: LoadedMatrix, lines: list[bytes], defaults: Configuration | None, sweep: Sweep) -> list[Any]:
    """Return the facts of every line as text, and then the problems."""
    kinds = Kinds(loaded.resolver, defaults)
    rows, problems = _read(kinds, sweep, lines, "b", 1)
    return [msgspec.json.encode(kinds.normalised(row)) for row in rows] + problems


# ---------------------------------------------------------------------------------------- random lines

HEADS = ["64", "128", "80", "64", "128", "64.0", "6e1", "064", "null", '"64"', "-1", "0", "true", "[64]", "9" * 12]
CACHES = ['"auto"', '"fp8"', '"FP8"', '"nvfp4"', '"fp\\u0038"', '"fp9"', "null", "8", '"fp8']
SIZES = {"head_size": HEADS, "block_size": ["16", "32", "16", "null", "1.5"], "kv_cache_dtype": CACHES}
OTHERS = {
    "sm": ['"9.0"', '"8.0"', "9.0", "9", '"sm_90"', "null", '{"head_size": 64}', '"9\\u002e0"'],
    "backend": ['"FLASHINFER"', '"flash_attn"', "null", '"TRITON_ATTN"'],
    "has_sink": ["true", "false", "1"],
    "model_type": [
        '"qwen3"',
        '"größe"',
        '"head_size"',
        '"\\"head_size\\": 64"',
        '"head_size\\": 64, "',
        '"head_size: 64, "',
        '", "',
        '"{"',
        '"}"',
    ],
    "compress_ratios": ["[4, 128]", "[]", "[true]"],
    "num_kv_heads": ["null"],
}
VALUES = {**SIZES, **OTHERS, "head\\u005fsize": ["64"], "head_sise": ["64"]}
NAMES = [*SIZES, *SIZES, *SIZES, *OTHERS, *OTHERS, "head\\u005fsize", "head_sise"]
TAILS = ["", "", "", "", " ", "\r", "\t", ",", "}", " {}", "garbage", "\\"]


STYLES = [(":", ","), (": ", ", "), (" :", " ,"), (" : ", " , "), (":\t", ",\r")]


@st.composite
def sweeps(draw: st.DrawFn) -> list[bytes]:
    """Return lines of one form and of some that are nearly like it; their values are good ones mostly."""
    first = draw(st.permutations(list(SIZES))) + draw(st.lists(st.sampled_from(list(OTHERS)), max_size=2, unique=True))
    first = draw(st.permutations(first[draw(st.integers(0, 2)) :]))
    style = draw(st.sampled_from(STYLES))
    forms = [(first, style)]
    for _ in range(draw(st.integers(0, 2))):
        at = draw(st.integers(0, len(first)))
        changed = [*first[:at], draw(st.sampled_from(NAMES)), *first[at + draw(st.integers(0, 1)) :]]
        forms.append((changed, draw(st.sampled_from([style, style, *STYLES]))))
    lines: list[bytes] = []
    for _ in range(draw(st.integers(2, 20))):
        if lines and draw(st.integers(0, 4)) == 0:
            lines.append(draw(st.sampled_from(lines)))
            continue
        names, (colon, comma) = draw(st.sampled_from(forms))
        wrong = draw(st.sampled_from([*names, *([None] * 8)]))
        fields = [
            f'"{name}"{colon}{draw(st.sampled_from(VALUES[name] if name == wrong else VALUES[name][:2]))}'
            for name in names
        ]
        tail = draw(st.sampled_from(TAILS)) if wrong else ""
        lines.append(f"{{{comma.join(fields)}}}{tail}".encode())
    return lines


DEFAULTS = st.sampled_from(
    [
        None,
        None,
        Configuration(head_size=64),
        Configuration(sm="8.0", kv_cache_dtype="fp8"),
        Configuration(block_size=16, head_size=128, has_sink=True),
    ]
)


@settings(max_examples=200, deadline=None)
@given(lines=sweeps(), defaults=DEFAULTS)
def test_a_sweep_reads_what_is_read_without_it(
    loaded: LoadedMatrix, lines: list[bytes], defaults: Configuration | None
) -> None:
    assert read(loaded, lines, defaults, Sweep()) == read(loaded, lines, defaults, InFull())


# ------------------------------------------------------------------------------------------ what is known


def product(form: str, heads: list[int], caches: list[str]) -> list[bytes]:
    return [form.replace("HEAD", str(h)).replace("CACHE", c).encode() for h in heads for c in caches]


FORMS = [
    '{"sm": "SM", "head_size": HEAD, "kv_cache_dtype": "CACHE"}',
    '{"head_size":HEAD,"kv_cache_dtype":"CACHE","sm":"SM"}',
    '{ "kv_cache_dtype" : "CACHE" , "has_sink" : true , "head_size" : HEAD , "sm" : "SM" }\r',
    '{"sm": "SM", "model_type": "größe", "kv_cache_dtype": "CACHE", "num_kv_heads": null, "head_size": HEAD}',
    '{"model_type": "a:b", "kv_cache_dtype": "CACHE", "head_size": HEAD, "sm": "SM"}',
]


@pytest.mark.parametrize("form", FORMS)
def test_lines_put_together_from_known_parts_are_not_parsed(loaded: LoadedMatrix, form: str) -> None:
    heads, caches = [64, 80, 128, 256], ["auto", "fp8", "FP8"]
    lines = [line for sm in ("8.0", "9.0", "10.0") for line in product(form.replace("SM", sm), heads, caches)]
    sweep = Counting()
    assert read(loaded, lines, None, sweep) == read(loaded, lines, None, InFull())
    # All sizes of the first GPU are read, and one line of each other GPU.
    assert sweep.known == 2 * (len(heads) * len(caches) - 1)


def test_sizes_of_lines_of_another_shape_are_known(loaded: LoadedMatrix) -> None:
    """A KV-cache dtype that only lines with other fields have had, all else being known."""
    lines = [
        b'{"sm": "9.0", "kv_cache_dtype": "auto"}',
        b'{"sm": "9.0", "has_sink": true, "kv_cache_dtype": "FP8"}',
        b'{"sm": "9.0", "kv_cache_dtype": "FP8"}',
    ]
    sweep = Counting()
    assert read(loaded, lines, None, sweep) == read(loaded, lines, None, InFull())
    assert sweep.known == 1


KNOWN = b'{"sm": "9.0", "head_size": 64, "block_size": 16}'
OTHER = [
    b'{"sm": "9.0", "head_size": 64, "block_size": 16',
    b'{"sm": "9.0", "head_size": 64, "block_size": 16}}',
    b'{"sm": "9.0", "head_size": 64, "block_size": 16} ',
    b'{"sm": "9.0", "head_size": 64, "block_size": 16} {}',
    b'{"sm": "9.0", "head_size": 64.0, "block_size": 16}',
    b'{"sm": "9.0", "head_size": 064, "block_size": 16}',
    b'{"sm": "9.0", "head_size": 64, "block_size": null}',
    b'{"sm": "9.0", "head_size": 64, "head_size": 64, "block_size": 16}',
    b'{"sm": "9.0", "head_size": 64, "block_size": 16, "block_size": 16}',
    b'{"sm": "9.0", "sm": "9.0", "head_size": 64, "block_size": 16}',
    b'{"sm": "9.0", "block_size": 16, "head_size": 64}',
    b'{"sm": "9.0", "head_size": 64}',
    b'{"sm": "9.0", }',
    b'{"sm": "9.0", ',
    b"}",
    b"",
]


@pytest.mark.parametrize("line", OTHER)
def test_other_lines_are_read(loaded: LoadedMatrix, line: bytes) -> None:
    sweep = Counting()
    lines = [KNOWN, b'{"sm": "9.0", "head_size": 128, "block_size": 16}', KNOWN, line]
    assert read(loaded, lines, None, sweep) == read(loaded, lines, None, InFull())
    assert sweep.known == 1


TWICE = [
    '{"head_size" : 64, "head_size": 128}',
    '{"head_size": 64, "head_size" : 128}',
    '{"head_size"\t: 64, "sm": "9.0", "head_size": 128}',
    '{"head_size" : 64, "head_size" : 64, "model_type": "\\":"}',
]


@pytest.mark.parametrize("line", TWICE)
def test_a_key_that_is_given_twice_is_found_however_it_is_spaced(loaded: LoadedMatrix, line: str) -> None:
    rows, problems = _read(Kinds(loaded.resolver), Sweep(), [line.encode()], "b", 1)
    assert rows == []
    assert ["head_size is given twice" in text for _, text in problems] == [True]


def test_defaults_fill_what_known_lines_leave_out(loaded: LoadedMatrix) -> None:
    """A default among the sizes stands in no line: such lines are read in full, or known with the default in them."""
    rows = [{"sm": sm, "block_size": block} for sm in ("8.0", "9.0") for block in (16, 32, 64)]
    lines = [json.dumps(row).encode() for row in rows]
    for defaults in (Configuration(head_size=80), Configuration(dtype="float16"), Configuration(block_size=8)):
        assert read(loaded, lines, defaults, Sweep()) == read(loaded, lines, defaults, InFull())
    with pytest.raises(ConfigurationError):
        Kinds(loaded.resolver, Configuration(head_size=0)).read({"sm": "9.0"})
