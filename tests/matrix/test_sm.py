from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compatcheck.matrix.load import LoadedMatrix
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


@pytest.mark.parametrize(
    ("name", "sm"),
    [
        ("NVIDIA RTX 4000 SFF Ada Generation", "8.9"),
        ("NVIDIA RTX 4000 Ada Generation", "8.9"),
        ("NVIDIA RTX 5000 Ada Generation Laptop GPU", "8.9"),
        ("NVIDIA RTX 2000E Ada Generation", "8.9"),
        ("NVIDIA RTX 6000 Ada Generation", "8.9"),
        ("NVIDIA RTX 3500 Ada Generation Laptop GPU", "8.9"),
        ("NVIDIA GeForce RTX 4090 D", "8.9"),
        ("NVIDIA GeForce RTX 4070 Ti SUPER", "8.9"),
        ("NVIDIA GeForce RTX 4060 Laptop GPU", "8.9"),
        ("NVIDIA L4", "8.9"),
        ("NVIDIA L40S", "8.9"),
        ("Quadro RTX 4000", "7.5"),
        ("Quadro RTX 5000 with Max-Q Design", "7.5"),
        ("NVIDIA GeForce GTX 1660 SUPER", "7.5"),
        ("NVIDIA GeForce RTX 2080 Super with Max-Q Design", "7.5"),
        ("Tesla T4", "7.5"),
        ("NVIDIA T1000 8GB", "7.5"),
        ("NVIDIA A100-SXM4-80GB", "8.0"),
        ("NVIDIA A100 80GB PCIe", "8.0"),
        ("NVIDIA A800 40GB Active", "8.0"),
        ("NVIDIA A100X", "8.0"),
        ("NVIDIA RTX A2000 12GB", "8.6"),
        ("NVIDIA RTX A1000 6GB Laptop GPU", "8.6"),
        ("NVIDIA A10G", "8.6"),
        ("NVIDIA GeForce RTX 3080 Ti Laptop GPU", "8.6"),
        ("NVIDIA GeForce RTX 2050", "8.6"),
        ("NVIDIA Jetson AGX Orin Developer Kit", "8.7"),
        ("Jetson Orin Nano Super Developer Kit", "8.7"),
        ("NVIDIA H100 80GB HBM3", "9.0"),
        ("NVIDIA H20-3e", "9.0"),
        ("NVIDIA H800 PCIe", "9.0"),
        ("NVIDIA GH200 144G HBM3e", "9.0"),
        ("HGX H200", "9.0"),
        ("NVIDIA B200", "10.0"),
        ("GB200 NVL72", "10.0"),
        ("NVIDIA B300 SXM6 AC", "10.3"),
        ("NVIDIA GB300", "10.3"),
        ("NVIDIA Jetson AGX Thor Developer Kit", "11.0"),
        ("NVIDIA RTX PRO 6000 Blackwell Max-Q Workstation Edition", "12.0"),
        ("NVIDIA RTX PRO 6000 Blackwell Server Edition", "12.0"),
        ("NVIDIA RTX PRO 4000 Blackwell SFF Edition", "12.0"),
        ("NVIDIA RTX PRO 5000 Blackwell Generation Laptop GPU", "12.0"),
        ("NVIDIA RTX PRO 5000 72GB Blackwell", "12.0"),
        ("NVIDIA GeForce RTX 5090 D v2", "12.0"),
        ("NVIDIA GeForce RTX 5070 Ti Laptop GPU", "12.0"),
        ("rtx5070ti", "12.0"),
        ("NVIDIA GB10", "12.1"),
        ("NVIDIA DGX Spark", "12.1"),
        ("NVIDIA A1000", None),
        ("NVIDIA RTX 6000 Blackwell", None),
        ("NVIDIA RTX 4000 Rubin", None),
        ("H2000", None),
        ("L40X", None),
        ("B3000", None),
    ],
)
def test_real_names(loaded: LoadedMatrix, name: str, sm: str | None) -> None:
    assert find_gpu(name, {sm: entry.gpus for sm, entry in loaded.matrix.sms.items()}) == sm
