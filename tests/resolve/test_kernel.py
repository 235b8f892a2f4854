"""A kernel against one call: there or not, dtypes and sizes, and how it refuses."""

from __future__ import annotations

from typing import Any

import pytest

from compatcheck.matrix.load import LoadedMatrix
from compatcheck.resolve.kernel import KernelCell, KernelProgram

from .conftest import Small

WRITER = "flashinfer.nvfp4_append.slot_mapping"


def program(loaded: LoadedMatrix, id_: str) -> KernelProgram:
    found: KernelProgram = loaded.resolver.kernel(id_)
    return found


@pytest.mark.parametrize(
    ("version", "present"),
    [
        ("0.6.13", False),
        ("0.6.14.dev20260601", None),
        ("0.6.14", False),
        ("0.6.15.dev1", True),
        ("0.6.15rc1", True),
        ("0.6.15", True),
        ("0.7.2.post1", True),
        (None, None),
    ],
)
def test_the_slot_mapping_helpers(loaded: LoadedMatrix, version: str | None, present: bool | None) -> None:
    assert program(loaded, WRITER).present(version) is present


def test_supports(small: Small) -> None:
    kernel = program(small(), "flashinfer.fa2.prefill")
    good: dict[str, Any] = {"sm": "9.0", "q_dtype": "float16", "kv_dtype": "float16", "head_size": 64}
    for changes, answer, axis in (
        ({}, True, None),
        ({"kv_dtype": "nvfp4"}, True, None),
        ({"kv_dtype": "bfloat16"}, False, "kv_dtype"),
        ({"q_dtype": "float32", "kv_dtype": "float32"}, False, "q_dtype"),
        ({"head_size": 96}, False, "head_size"),
        ({"sm": "12.0"}, False, "sm"),
        ({"head_size": None}, None, "head_size"),
        ({"sm": None, "head_size": 96}, False, "head_size"),
    ):
        supported, axes = kernel.supports(KernelCell(**good | changes))
        assert supported is answer
        if axis is not None:
            assert axes[axis] is answer
    assert kernel.missing(KernelCell(**good | {"head_size": None, "sm": None})) == {"head_size", "sm"}


def test_refusals(small: Small) -> None:
    kernel = program(small(), "flashinfer.fa2.prefill")
    cases: list[tuple[dict[str, Any], str | None]] = [
        ({"q_dtype": "fp8_e4m3", "flashinfer_version": "0.6.14"}, "fa2-fp8-query"),
        ({"q_dtype": "fp8_e4m3", "flashinfer_version": "0.6.15"}, None),
        ({"q_dtype": "fp8_e4m3"}, None),
        ({"q_dtype": "float16", "flashinfer_version": "0.6.14"}, None),
        ({"flashinfer_version": "0.6.14"}, None),
    ]
    for changes, code in cases:
        refusal = kernel.refusal(KernelCell(sm="9.0", **changes))
        assert (refusal.code if refusal else None) == code


def test_until(small: Small) -> None:
    since = 'since: "0.6.12"\n    phase: prefill'
    kernel = program(small((since, since.replace("\n", '\n    until: "0.6.15"\n', 1))), "flashinfer.fa2.prefill")
    assert [kernel.present(v) for v in ("0.6.11", "0.6.12", "0.6.14", "0.6.15", "0.7.0")] == [
        False,
        True,
        True,
        False,
        False,
    ]


def test_every_kernel_compiles(loaded: LoadedMatrix) -> None:
    for id_ in loaded.matrix.kernels:
        assert program(loaded, id_).id == id_
