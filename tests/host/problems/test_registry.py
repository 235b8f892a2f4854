from __future__ import annotations

import ast
import importlib
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compatcheck.host import problems
from compatcheck.host.model import BrokenPackage, Driver, Host, Mig, Package, Problem, Toolkit
from compatcheck.host.problems import CHECKS, diagnose
from compatcheck.host.symbols import SLOT_MAPPING_APPEND
from compatcheck.host.toolkit import HEADERS, LIBRARIES

from ..hosts import gpu, host

FOLDER = Path(problems.__file__).parent
VERSIONS = ("0.0.0+unknown", "0.6.13", "0.6.14.dev20260707", "0.6.15+cu130", "0.7.2", "2.14.0+cu130", None)
CUDA = (None, "12.6", "12.8", "12.9", "13.0", "13.1")


def test_every_file_with_a_check_is_registered() -> None:
    files = {
        file.stem
        for file in FOLDER.glob("*.py")
        if any(isinstance(node, ast.FunctionDef) and node.name == "check" for node in ast.parse(file.read_text()).body)
    }
    assert {check.__module__.rpartition(".")[2] for check in CHECKS} == files
    assert len(set(CHECKS)) == len(CHECKS)


def test_a_healthy_host_has_no_problems() -> None:
    made = host("9.0", packages={"torch": "2.14.0+cu130", "flashinfer-python": "0.7.2.post1", "vllm": "0.33.0"})
    assert diagnose(made) == []


def test_an_empty_document_has_no_problems() -> None:
    assert diagnose(Host()) == []


def test_errors_come_first() -> None:
    made = host("8.6", "12.0", packages={"flashinfer-python": "0.6.15", "flashinfer-cubin": "0.6.13", "torch": "2"})
    severities = [item.severity for item in diagnose(made)]
    assert severities == sorted(severities, key=["error", "warning", "info"].index)
    assert severities[0] == "error"


packages = st.dictionaries(
    st.sampled_from(
        [
            "flashinfer-cubin",
            "flashinfer-jit-cache",
            "flashinfer-jit-cache-sm90a",
            "flashinfer-python",
            "nvidia-cutlass-dsl",
            "nvidia-ml-py",
            "pynvml",
            "torch",
            "vllm",
        ]
    ),
    st.tuples(st.sampled_from(VERSIONS), st.sampled_from(VERSIONS), st.sampled_from(CUDA), st.booleans()),
)
toolkits = st.builds(
    Toolkit,
    source=st.sampled_from(["CUDA_HOME", "PATH", "default", "none", "not-queried"]),
    nvcc=st.booleans(),
    cuda_version=st.sampled_from(CUDA),
    nvcc_error=st.sampled_from([None, "it fails"]),
    nvcc_on_path=st.booleans(),
    headers=st.dictionaries(st.sampled_from(HEADERS), st.booleans()),
    headers_version=st.sampled_from(CUDA),
    libraries=st.dictionaries(st.sampled_from(LIBRARIES), st.none() | st.booleans()),
    ninja=st.booleans(),
    host_compiler=st.booleans(),
)
gpus = st.lists(
    st.builds(
        gpu,
        st.sampled_from(["8.0", "8.6", "9.0", "10.0", "10.3", "11.0", "12.0", "12.1"]),
        visible=st.none() | st.booleans(),
        lost=st.booleans(),
        mig=st.builds(Mig, enabled=st.none() | st.booleans()),
    ),
    max_size=3,
)
environments = st.dictionaries(
    st.sampled_from(
        [
            "CUDA_VISIBLE_DEVICES",
            "CUDA_DEVICE_ORDER",
            "FLASHINFER_CUBIN_DIR",
            "FLASHINFER_CUDA_ARCH_LIST",
            "FLASHINFER_DISABLE_VERSION_CHECK",
            "VLLM_ATTENTION_BACKEND",
            "VLLM_HAS_FLASHINFER_CUBIN",
        ]
    ),
    st.none() | st.sampled_from(["", "0", "1", "9.0a", "9.0;12.0"]),
)


@settings(deadline=None)
@given(packages, toolkits, gpus, environments, st.sampled_from(CUDA), st.sampled_from([None, True, False]))
def test_no_host_breaks_the_doctor_and_every_problem_is_complete(
    found: dict[str, tuple[str | None, str | None, str | None, bool]],
    kit: Toolkit,
    boards: list[object],
    environment: dict[str, str | None],
    cuda: str | None,
    there: bool | None,
) -> None:
    made = host(
        *boards,  # type: ignore[arg-type]
        extra=tuple(
            Package(
                name=name,
                version=version,
                module_version=files,
                cuda=built,
                editable=editable,
                local=version.partition("+")[2] or None if version else None,
                requires={"flashinfer-python": "==0.7.2.post1", "torch": ">=2"} if name == "vllm" else {},
            )
            for name, (version, files, built, editable) in found.items()
        ),
        kit=kit,
        driver=Driver(version="580.159.04", cuda_version=cuda),
        env=environment,
        flashinfer_symbols={SLOT_MAPPING_APPEND: there},
        vllm_imports={f"flashinfer:{SLOT_MAPPING_APPEND}": there},
        vllm_reads={"VLLM_ATTENTION_BACKEND": there},
        flashinfer_import_queries_gpu=there,
        broken_packages=(BrokenPackage(name="torch", entry="torch", kind="no-metadata", detail="d"),),
    )
    reported = diagnose(made)
    assert diagnose(made) == reported
    for item in reported:
        complete(item)


def complete(item: Problem) -> None:
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", item.code)
    for field in ("who", "message", "required", "found", "fix", "source"):
        text = getattr(item, field)
        assert text.strip() == text, (item.code, field, text)
        assert text, (item.code, field)
        assert "\n" not in text
        assert "None" not in text.replace("None)", ""), (item.code, field, text)
    assert re.search(r"https://|@|standard library|ptxas|METADATA", item.source), item.source


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__module__.rpartition(".")[2])
def test_every_check_says_what_it_does(check: object) -> None:
    module = importlib.import_module(getattr(check, "__module__", ""))
    assert module.__doc__
    assert getattr(check, "__doc__", None)
