"""Kernel wheels and the version check: flashinfer-cubin, flashinfer-jit-cache, its providers."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compatcheck.host.model import Host

from ..hosts import codes, host, package, problem

CUBIN, CACHE = "flashinfer-cubin-mismatch", "flashinfer-jit-cache-mismatch"
PROVIDER, BYPASSED = "flashinfer-jit-cache-provider-mismatch", "flashinfer-version-check-bypassed"


def wheels(flashinfer: str, cubin: str | None = None, cache: str | None = None, disable: str | None = None) -> Host:
    found = {"torch": "2.11.0", "flashinfer-python": flashinfer}
    found |= {"flashinfer-cubin": cubin} if cubin else {}
    found |= {"flashinfer-jit-cache": cache} if cache else {}
    return host("9.0", packages=found, env={} if disable is None else {"FLASHINFER_DISABLE_VERSION_CHECK": disable})


def test_equal_versions_and_local_parts_are_no_mismatch() -> None:
    assert codes(wheels("0.6.16", "0.6.16", "0.6.16+cu130")) == []
    assert codes(wheels("0.7.2.post1", "0.7.2.post1", "0.7.2.post1+cu130")) == []


@given(
    st.sampled_from(["0.6.13", "0.6.16", "0.7.0", "0.7.2.post1", "0.7.4"]),
    st.from_regex(r"cu1[23][0-9]", fullmatch=True),
)
def test_no_local_part_whatever_is_a_jit_cache_mismatch(version: str, local: str) -> None:
    assert codes(wheels(version, version, f"{version}+{local}")) == []


def test_an_older_cubin_stops_the_import_before_0_7_2() -> None:
    found = problem(wheels("0.6.14", "0.6.13"), CUBIN)
    assert found.severity == "error"
    assert (found.required, found.found) == ("flashinfer-cubin 0.6.14", "flashinfer-cubin 0.6.13")
    assert found.fix.startswith("pip uninstall flashinfer-cubin"), "0.6.14 is not on PyPI any more"
    assert problem(wheels("0.5.3", "0.6.0"), CUBIN).fix.startswith("pip install 'flashinfer-cubin==0.5.3'")


def test_since_0_7_2_it_is_ignored_with_a_warning() -> None:
    found = problem(wheels("0.7.2", "0.7.1"), CUBIN)
    assert found.severity == "warning"
    assert found.fix.startswith("flashinfer download-kernels")
    assert problem(wheels("0.7.1", "0.7.0"), CUBIN).severity == "error"


def test_a_local_part_is_a_mismatch_for_cubins_because_the_library_compares_exactly() -> None:
    assert problem(wheels("0.6.16", "0.6.16+cu130"), CUBIN).severity == "error"


def test_flashinfers_files_decide_not_its_metadata() -> None:
    files = package("flashinfer-python", "0.6.13", module_version="0.6.14")
    made = host("9.0", packages={"flashinfer-cubin": "0.6.14", "torch": "2.11.0"}, extra=(files,))
    assert CUBIN not in codes(made)


def test_a_build_without_a_version_checks_nothing() -> None:
    source = package("flashinfer-python", "0.6.14", module_version="0.0.0+unknown", editable=True)
    made = host("9.0", packages={"flashinfer-cubin": "0.6.13", "torch": "2.11.0"}, extra=(source,))
    assert codes(made) == []


def test_cubin_dir_takes_the_wheels_place_from_0_6_16() -> None:
    for version, expected in (("0.6.15", [CUBIN]), ("0.6.16", []), ("0.7.2", [])):
        found = {"flashinfer-python": version, "flashinfer-cubin": "0.6.1", "torch": "2.11.0"}
        assert codes(host("9.0", packages=found, env={"FLASHINFER_CUBIN_DIR": None})) == expected, version


def test_a_jit_cache_of_another_release() -> None:
    assert problem(wheels("0.6.11", cache="0.6.9+cu130"), CACHE).severity == "error"
    assert problem(wheels("0.7.1", cache="0.7.0+cu130"), CACHE).severity == "error"
    assert problem(wheels("0.7.2", cache="0.7.1+cu130"), CACHE).severity == "warning"


def test_a_jit_cache_that_slips_through_the_comparison_of_beginnings() -> None:
    found = problem(wheels("0.6.15", cache="0.6.15.post1+cu130"), CACHE)
    assert found.severity == "error"
    assert "loaded" in found.message
    assert problem(wheels("0.7.0", cache="0.7.0.post1+cu130"), CACHE).message.startswith("`import flashinfer` raises")


def test_a_provider_must_equal_the_shim_local_part_included() -> None:
    base = {"torch": "2.11.0", "flashinfer-python": "0.7.0", "flashinfer-jit-cache": "0.7.0+cu130"}
    assert codes(host("9.0", packages={**base, "flashinfer-jit-cache-sm90a": "0.7.0+cu130"})) == []
    found = problem(host("9.0", packages={**base, "flashinfer-jit-cache-sm90a": "0.7.0+cu129"}), PROVIDER)
    assert found.found == "flashinfer-jit-cache-sm90a 0.7.0+cu129"


@pytest.mark.parametrize("value", ["1", "0", "false"])
def test_the_bypass_over_a_mismatch_is_the_error_and_the_only_one(value: str) -> None:
    made = wheels("0.6.11", cubin="0.6.9", cache="0.6.9+cu130", disable=value)
    assert codes(made) == [BYPASSED]
    found = problem(made, BYPASSED)
    assert found.severity == "error"
    assert "flashinfer-cubin 0.6.9; flashinfer-jit-cache 0.6.9+cu130" in found.found
    assert "unset FLASHINFER_DISABLE_VERSION_CHECK" in found.fix


def test_the_bypass_without_a_mismatch_is_unneeded() -> None:
    found = problem(wheels("0.6.15", "0.6.15", disable="0"), "flashinfer-version-check-disabled")
    assert found.severity == "info"
    assert "0 too" in found.found


def test_an_empty_bypass_is_none() -> None:
    assert codes(wheels("0.6.14", "0.6.13", disable="")) == [CUBIN]
    assert codes(wheels("0.6.14", "0.6.14", disable="")) == []


def test_a_bypass_without_flashinfer_says_nothing() -> None:
    assert codes(host("9.0", packages={"torch": "2.11.0"}, env={"FLASHINFER_DISABLE_VERSION_CHECK": "1"})) == []


def test_a_jit_cache_for_another_cuda_major_than_torchs() -> None:
    torch = package("torch", "2.11.0+cu129", cuda="12.9")
    found = {"flashinfer-python": "0.6.16", "flashinfer-jit-cache": "0.6.16+cu130"}
    made = host("9.0", packages=found, extra=(torch,))
    assert "flashinfer-jit-cache-cuda-mismatch" in codes(made)
    same = host("9.0", packages={**found, "flashinfer-jit-cache": "0.6.16+cu128"}, extra=(torch,))
    assert "flashinfer-jit-cache-cuda-mismatch" not in codes(same)
