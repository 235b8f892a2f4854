from __future__ import annotations

import pytest

from compatcheck.host.privacy import without_paths


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("nvcc: /opt/cuda/bin/nvcc: not found", "nvcc: <path>: not found"),
        ("No such file: '/home/some body/x.py'", "No such file: <path>"),
        ("C:\\Users\\some\\nvml.dll failed", "<path> failed"),
        ("in ~/venv/lib, line 3", "in <path>, line 3"),
        ("CUDA >= 12.8 and/or 12.9", "CUDA >= 12.8 and/or 12.9"),
        ("https://github.com/a/b", "https://github.com/a/b"),
        ("two\nlines", "two lines"),
    ],
)
def test_paths_go_and_the_rest_stays(text: str, expected: str) -> None:
    assert without_paths(text) == expected
