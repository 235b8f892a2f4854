from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compatcheck.matrix.sm import family, find_gpu, parse_sm


@pytest.mark.parametrize("written", [9.0, 90, "90", "9.0", "sm_90", "sm90", "SM90a", "compute_90", " 9.0 "])
def test_spellings_of_one_sm(written: str | int | float) -> None:
    assert parse_sm(written) == "9.0"


@pytest.mark.parametrize(("written", "sm"), [(120, "12.0"), ("sm_121a", "12.1"), ("100f", "10.0"), (10.3, "10.3")])
def test_two_digit_majors(written: str | int | float, sm: str) -> None:
    assert parse_sm(written) == sm


@pytest.mark.parametrize(
    "written", ["", "nine", "9", 9, True, 9.05, float("nan"), "sm_", "1.2.3", "1000", "9.\u0660", "-9.0"]
)
def test_not_an_sm(written: str | int | float) -> None:
    assert parse_sm(written) is None


@given(st.integers(1, 99), st.integers(0, 9))
def test_every_capability_is_read_in_both_forms(major: int, minor: int) -> None:
    assert parse_sm(f"{major}.{minor}") == parse_sm(f"sm_{major}{minor}") == f"{major}.{minor}"
    assert family(f"{major}.{minor}") == f"{major}.x"


GPUS = {"9.0": ["H200", "H100", "H100 PCIe"], "12.0": ["RTX 5090"], "7.5": ["RTX 6000"], "8.9": ["RTX 6000 Ada"]}


@pytest.mark.parametrize(
    ("name", "sm"),
    [
        ("NVIDIA H200 NVL", "9.0"),
        ("h100-pcie", "9.0"),
        ("NVIDIA GeForce RTX 5090 D", "12.0"),
        ("Quadro RTX 6000", "7.5"),
        ("NVIDIA RTX 6000 Ada Generation", "8.9"),
        ("Voodoo2", None),
        ("", None),
    ],
)
def test_gpu_names(name: str, sm: str | None) -> None:
    assert find_gpu(name, GPUS) == sm
