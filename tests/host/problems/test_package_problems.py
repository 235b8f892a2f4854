"""torch, vLLM's pins and imports, the NVFP4 helpers, broken metadata, pynvml."""

from __future__ import annotations

import pytest

from compatcheck.host.model import BrokenKind, BrokenPackage, Driver, Host, System
from compatcheck.host.symbols import PAGED_DEQUANTIZE, SLOT_MAPPING_APPEND

from ..hosts import codes, host, package, problem

HELPERS = "nvfp4-slot-mapping-helpers-missing"
MISSING: dict[str, bool | None] = {SLOT_MAPPING_APPEND: False, PAGED_DEQUANTIZE: False}
WRITER = f"flashinfer:{SLOT_MAPPING_APPEND}"


def test_torch_missing() -> None:
    vllm = package("vllm", "0.33.0", requires={"torch": "==2.14.0"})
    found = problem(host("9.0", extra=(vllm,)), "torch-missing")
    assert found.fix == "pip install 'torch==2.14.0'"
    assert codes(host("9.0")) == []


def test_a_cpu_or_rocm_torch_on_a_gpu_host() -> None:
    cpu = package("torch", "2.13.0+cpu", module_version="2.13.0+cpu")
    assert "a CPU-only build" in problem(host("9.0", extra=(cpu,)), "torch-not-for-cuda").found
    assert codes(host(extra=(cpu,))) == ["nvml-no-library"], "without a GPU a CPU build is what one wants"
    rocm = package("torch", "2.13.0", module_version="2.13.0", rocm="6.4")
    assert "ROCm 6.4" in problem(host("9.0", extra=(rocm,)), "torch-not-for-cuda").found
    unread = package("torch", "2.13.0")
    assert codes(host("9.0", extra=(unread,))) == [], "files that were not read prove nothing"


@pytest.mark.parametrize(
    ("sm", "cuda", "bad"), [("12.0", "12.6", True), ("12.0", "12.8", False), ("9.0", "12.6", False)]
)
def test_a_torch_that_does_not_know_the_gpu(sm: str, cuda: str, bad: bool) -> None:
    torch = package("torch", f"2.7.0+cu{cuda.replace('.', '')}", cuda=cuda, module_version="2.7.0")
    assert ("torch-too-old-for-gpu" in codes(host(sm, extra=(torch,)))) is bad


def test_the_driver_against_torchs_cuda() -> None:
    torch = package("torch", "2.14.0+cu130", cuda="13.0")

    def made(runs: str) -> Host:
        return host("9.0", extra=(torch,), driver=Driver(version="570.86", cuda_version=runs))

    found = problem(made("12.8"), "driver-too-old-for-torch")
    assert found.severity == "error"
    assert "driver >= 580" in found.required
    assert codes(made("13.0")) == []
    assert codes(made("13.1")) == []
    newer = package("torch", "2.14.0+cu131", cuda="13.1")
    minor = host("9.0", extra=(newer,), driver=Driver(version="580.1", cuda_version="13.0"))
    assert problem(minor, "driver-older-minor-than-torch").severity == "info"


def pinned(found: str | None, wanted: str = "==0.6.13", vllm: str = "0.25.1", **more: object) -> Host:
    packages = {"torch": "2.11.0"} | ({"flashinfer-python": found} if found else {})
    pins = package("vllm", vllm, requires={"flashinfer-python": wanted, "torch": "==2.11.0"})
    return host("9.0", packages=packages, extra=(pins,), **more)  # type: ignore[arg-type]


def test_another_flashinfer_than_vllm_pins() -> None:
    found = problem(pinned("0.6.15"), "not-the-version-vllm-pins")
    assert (found.severity, found.required, found.found) == (
        "warning",
        "flashinfer-python==0.6.13",
        "flashinfer-python 0.6.15",
    )
    assert codes(pinned("0.6.13")) == []
    assert codes(pinned("0.6.13+cu130")) == [], "a local part is no difference"
    assert codes(pinned("0.6.13", "not a specifier")) == []


def test_vllm_without_flashinfer() -> None:
    assert problem(pinned(None), "flashinfer-missing").fix == "pip install 'flashinfer-python==0.6.13'"


def test_missing_helpers_stop_the_backend_of_vllm_0_32() -> None:
    made = pinned("0.6.14", "==0.7.0.post1", "0.32.0", flashinfer_symbols=MISSING, vllm_imports={WRITER: False})
    found = problem(made, HELPERS)
    assert found.severity == "error"
    assert "on SM 9.0 has no writer" in found.message
    assert found.fix == "pip install 'flashinfer-python==0.7.0.post1'"
    assert "vllm-imports-missing-from-flashinfer" not in codes(made), "the same name is not reported twice"


def test_without_vllms_files_its_version_decides() -> None:
    by_version = pinned("0.6.14", "==0.7.0.post1", "0.32.0", flashinfer_symbols=MISSING)
    assert problem(by_version, HELPERS).severity == "error"
    before = pinned("0.6.14", "==0.6.14", "0.31.0", flashinfer_symbols=MISSING)
    assert HELPERS not in codes(before), "older releases have no slot-mapping route to miss"


def test_a_nightly_is_judged_by_its_files() -> None:
    has: dict[str, bool | None] = dict.fromkeys(MISSING, True)
    nightly = "0.6.14.dev20260707"
    made = pinned(nightly, f"=={nightly}", "0.32.0", flashinfer_symbols=has, vllm_imports={WRITER: True})
    assert codes(made) == []
    unknown: dict[str, bool | None] = dict.fromkeys(MISSING)
    assert HELPERS not in codes(pinned(nightly, f"=={nightly}", "0.32.0", flashinfer_symbols=unknown))


def test_without_vllm_missing_helpers_are_worth_knowing() -> None:
    made = host("8.6", packages={"flashinfer-python": "0.6.14", "torch": "2.11.0"}, flashinfer_symbols=MISSING)
    assert problem(made, HELPERS).severity == "info"


def test_other_names_that_vllm_imports() -> None:
    imports: dict[str, bool | None] = {
        "flashinfer.utils:get_device_sm_count": True,
        "flashinfer.utils:get_trtllm_gen_multi_ctas_kv_counter_bytes": False,
        "flashinfer:unsure": None,
    }
    made = pinned("0.7.0.post1", "==0.7.2.post1", "0.33.0", vllm_imports=imports)
    found = problem(made, "vllm-imports-missing-from-flashinfer")
    assert found.required == "flashinfer.utils.get_trtllm_gen_multi_ctas_kv_counter_bytes"


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, True),
        ({"dsl": None}, False),
        ({"queries": False}, False),
        ({"queries": None}, False),
        ({"sm": "9.0"}, False),
    ],
)
def test_an_import_that_needs_a_gpu(changes: dict[str, object], expected: bool) -> None:
    facts = {"dsl": "4.5.2", "queries": True, "sm": None, **changes}
    found = {"flashinfer-python": "0.6.15", "torch": "2.11.0"}
    found |= {"nvidia-cutlass-dsl": str(facts["dsl"])} if facts["dsl"] else {}
    queries = facts["queries"]
    assert queries is None or isinstance(queries, bool)
    gpus = (str(facts["sm"]),) if facts["sm"] else ()
    made = host(*gpus, packages=found, flashinfer_import_queries_gpu=queries)
    assert ("flashinfer-import-needs-gpu" in codes(made)) is expected


def test_both_pynvml_distributions() -> None:
    code = "pynvml-and-nvidia-ml-py"
    assert problem(host("9.0", packages={"pynvml": "11.5.0", "nvidia-ml-py": "13.0"}), code).severity == "warning"
    assert problem(host("9.0", packages={"pynvml": "12.0.0", "nvidia-ml-py": "13.0"}), code).severity == "info"
    assert codes(host("9.0", packages={"pynvml": "11.5.0"})) == []


@pytest.mark.parametrize(
    ("kind", "severity", "fix"),
    [
        ("no-metadata", "warning", "pip install --force-reinstall"),
        ("duplicate", "warning", "delete the stale directory"),
        ("leftover", "info", "delete the directory ~riton-1.dist-info"),
    ],
)
def test_broken_metadata(kind: BrokenKind, severity: str, fix: str) -> None:
    broken = BrokenPackage(name="triton", entry="~riton-1.dist-info", kind=kind, detail="METADATA is missing")
    found = problem(host("9.0", broken_packages=(broken,)), "broken-package-metadata")
    assert found.severity == severity
    assert found.found == "~riton-1.dist-info: METADATA is missing"
    assert found.fix.startswith(fix)


def test_files_of_another_release_than_the_metadata() -> None:
    code = "package-files-differ-from-metadata"
    mixed = package("flashinfer-python", "0.6.14", module_version="0.6.15")
    assert problem(host("9.0", packages={"torch": "2"}, extra=(mixed,)), code).severity == "warning"
    moved = package("flashinfer-python", "0.6.14", module_version="0.6.15", editable=True)
    assert "pip install -e ." in problem(host("9.0", packages={"torch": "2"}, extra=(moved,)), code).fix
    same = package("flashinfer-python", "0.6.14+cu130", module_version="0.6.14+cu130")
    assert codes(host("9.0", packages={"torch": "2"}, extra=(same,))) == []


def test_unreadable_files_are_passed_on() -> None:
    made = host("9.0", unreadable_files=("flashinfer.page: invalid syntax at line 3",))
    assert problem(made, "source-files-unreadable").found == "flashinfer.page: invalid syntax at line 3"


def test_a_variable_that_vllm_no_longer_reads() -> None:
    reads: dict[str, bool | None] = {
        "VLLM_ATTENTION_BACKEND": False,
        "VLLM_BATCH_INVARIANT": True,
        "VLLM_USE_TRTLLM_ATTENTION": False,
        "VLLM_KV_CACHE_LAYOUT": None,
    }
    env: dict[str, str | None] = {"VLLM_ATTENTION_BACKEND": "FLASHINFER", "VLLM_KV_CACHE_LAYOUT": "HND"}
    made = host("9.0", packages={"vllm": "0.33.0", "torch": "2"}, env=env, vllm_reads=reads)
    found = problem(made, "vllm-ignores-variable")
    assert found.found == "VLLM_ATTENTION_BACKEND=FLASHINFER"
    assert found.fix.startswith("use --attention-backend NAME")


@pytest.mark.parametrize(
    ("flashinfer", "python", "there"),
    [
        ("0.6.16.post3", "3.11.7", True),
        ("0.6.16", "3.10.12", True),
        ("0.6.16.post3", "3.12.3", False),
        ("0.6.16.post3", None, False),
        ("0.6.16.post4", "3.11.7", False),
        ("0.6.15", "3.11.7", False),
    ],
)
def test_an_annotation_that_python_3_11_cannot_evaluate(flashinfer: str, python: str | None, there: bool) -> None:
    """verl-omni#506: every release of vLLM 0.27 and 0.28 pins such a FlashInfer."""
    made = host("9.0", packages={"flashinfer-python": flashinfer}, system=System(python=python))
    assert ("flashinfer-comm-needs-python-3.12" in codes(made)) is there
