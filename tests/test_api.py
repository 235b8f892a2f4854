"""The Python API: check answers, validate raises, both say what is wrong with what they were given."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import pytest

import compatcheck
from compatcheck.matrix.errors import MatrixError
from compatcheck.resolve.normalise import ConfigurationError

from .matrix.samples import SMALL

REFUSED: dict[str, Any] = {
    "sm": "12.0",
    "engine_version": "0.25.1",
    "flashinfer_version": "0.6.13",
    "backend": "FLASHINFER",
    "kv_cache_dtype": "nvfp4",
    "head_size": 128,
}
DEGRADED: dict[str, Any] = {
    "sm": "12.1",
    "engine_version": "0.33.0",
    "backend": "FLASHINFER",
    "kv_cache_dtype": "fp8_e5m2",
    "head_size": 128,
}


def test_check() -> None:
    verdict = compatcheck.check(**REFUSED)
    assert isinstance(verdict, compatcheck.Verdict)
    assert verdict.verdict == "unsupported"
    assert verdict.alternatives
    assert compatcheck.check(**REFUSED, alternatives=False).alternatives == ()


def test_validate_raises_with_the_findings() -> None:
    with pytest.raises(compatcheck.CompatibilityError) as caught:
        compatcheck.validate(**REFUSED)
    error = caught.value
    assert isinstance(error, ValueError)
    assert str(error).startswith("unsupported: vLLM 0.25.1's selector refuses FLASHINFER: kv_cache_dtype not supported")
    assert error.findings == error.verdict.findings
    assert error.findings[0].code == "selector-kv-cache-dtype"


def test_validate_returns_what_works() -> None:
    assert compatcheck.validate(**REFUSED | {"kv_cache_dtype": "fp8"}).verdict == "supported"


def test_degraded_and_unknown_raise_unless_allowed() -> None:
    with pytest.raises(compatcheck.CompatibilityError, match="degraded: "):
        compatcheck.validate(**DEGRADED)
    assert compatcheck.validate(**DEGRADED, allow_degraded=True).verdict == "degraded"
    with pytest.raises(compatcheck.CompatibilityError, match="cannot be decided without: head_size, sm"):
        compatcheck.validate(backend="FLASHINFER")
    assert compatcheck.validate(backend="FLASHINFER", allow_unknown=True).verdict == "unknown"
    with pytest.raises(compatcheck.CompatibilityError):
        compatcheck.validate(**REFUSED, allow_degraded=True, allow_unknown=True)


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"headsize": 128}, "unknown configuration field 'headsize'; did you mean head_size?"),
        ({"zzz": 1}, "unknown configuration field 'zzz'; fields are: engine, "),
    ],
)
def test_unknown_fields(fields: dict[str, Any], said: str) -> None:
    with pytest.raises(TypeError) as caught:
        compatcheck.check(**fields)
    assert str(caught.value).startswith(said)


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"head_size": "128"}, "head_size: Expected `int | null`, got `str`"),
        ({"head_size": True}, "head_size: Expected `int | null`, got `bool`"),
        ({"head_size": -1}, "head_size: must be positive and below 2^31, found -1"),
        ({"use_mla": 1}, "use_mla: Expected `bool | null`, got `int`"),
        ({"sm": [9, 0]}, "sm: Expected `int | float | str | null`, got `array`"),
        ({"sm": "H201"}, "sm: 'H201' is neither a compute capability nor a GPU of the matrix"),
        ({"compress_ratios": ["a"]}, "compress_ratios[0]: Expected `int`, got `str`"),
        ({"kv_cache_dtype": "fp4"}, "kv_cache_dtype: no release of vLLM knows 'fp4'. Did you mean nvfp4?"),
    ],
)
def test_values_that_cannot_be_judged(fields: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        compatcheck.check(**fields)
    assert str(caught.value).startswith(said)


def test_none_is_not_given() -> None:
    assert compatcheck.check(sm="9.0", head_size=128, backend=None, engine_version=None).verdict == "supported"
    assert compatcheck.check(sm="9.0", compress_ratios=[4, 128], head_size=128).verdict == "supported"


def test_errors_cross_processes() -> None:
    """A worker pool pickles what its worker raised."""
    with pytest.raises(compatcheck.CompatibilityError) as refused:
        compatcheck.validate(**REFUSED)
    again = pickle.loads(pickle.dumps(refused.value))
    assert (str(again), again.findings) == (str(refused.value), refused.value.findings)
    with pytest.raises(ConfigurationError) as wrong:
        compatcheck.check(head_size=0)
    assert pickle.loads(pickle.dumps(wrong.value)).problems == wrong.value.problems


def test_matrix_and_overlays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COMPATCHECK_CACHE_DIR", str(tmp_path / "cache"))
    overlay = tmp_path / "site.yaml"
    overlay.write_text('rules:\n  helpers-missing:\n    fix: "Ask us."\n', encoding="utf-8")
    (tmp_path / "m.yaml").write_text(SMALL, encoding="utf-8")
    asked: dict[str, Any] = {"sm": "9.0", "kv_cache_dtype": "nvfp4", "head_size": 128, "flashinfer_version": "0.6.14"}
    verdict = compatcheck.check(matrix=tmp_path / "m.yaml", overlays=(str(overlay),), **asked)
    finding = next(f for f in verdict.findings if f.code == "helpers-missing")
    assert (finding.fix, finding.line) == ("Ask us.", f"{overlay}:2")
    with pytest.raises(MatrixError, match="cannot be read"):
        compatcheck.check(matrix=tmp_path / "none.yaml", sm="9.0")


def test_everything_named_is_there() -> None:
    for name in compatcheck.__all__:
        assert getattr(compatcheck, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'chek'"):
        _ = compatcheck.chek
