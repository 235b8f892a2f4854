from __future__ import annotations

import re
from pathlib import Path

import pytest

from compatcheck.smoke.classify import classify
from compatcheck.smoke.evidence import read_evidence
from compatcheck.smoke.outcome import Expectation
from compatcheck.smoke.scrub import names, scrub

SUPPORTED = Expectation(kind="supported")
CASES = [
    ("RuntimeError", "Artifact not found locally: abc", "unavailable", "artifact"),
    ("AssertionError", "Failed to get checksums.txt from fmha", "unavailable", "artifact"),
    ("ConnectionError", "HTTPSConnectionPool: Max retries exceeded", "unavailable", "network"),
    ("ModuleNotFoundError", "No module named 'cudnn'", "unavailable", "package"),
    ("RuntimeError", "CuTe DSL is not available.", "unavailable", "package"),
    ("SymbolMissingError", "flashinfer has no f", "unavailable", "symbol"),
    (
        "RuntimeError",
        "Ninja build failed.\nx.cu:1: fatal error: foo/bar.h: No such file or directory",
        "unavailable",
        "header",
    ),
    (
        "RuntimeError",
        "ninja: error: 'x.cu', needed by 'x.o', missing and no known rule to make it",
        "unavailable",
        "source",
    ),
    ("RuntimeError", "Ninja build failed. Ninja output: error: static assertion failed", "compile-error", None),
    ("RuntimeError", "CUDA error: an illegal memory access was encountered", "crashed", None),
    ("OutOfMemoryError", "CUDA out of memory. Tried to allocate 2 GiB", "crashed", None),
    ("MemoryError", "", "crashed", None),
    ("ValueError", "Invalid page_size: 8", "refused", None),
    ("BackendSupportedError", "f does not support compute capability 90", "refused", None),
    ("RuntimeError", "Unsupported architecture", "refused", None),
    (
        "cudnnGraphNotSupportedError",
        "no engine proposed a plan (Q and K need to have the same datatype; sm90: requires an extra, not installed)",
        "refused",
        None,
    ),
]


@pytest.mark.parametrize(("exception", "text", "outcome", "missing"), CASES)
def test_outcomes(exception: str, text: str, outcome: str, missing: str | None) -> None:
    assert classify(exception, (), text, SUPPORTED)[:2] == (outcome, missing)


def test_declared_words_come_first() -> None:
    expected = Expectation(kind="refused", exception="RuntimeError", match="not installed on SM")
    assert classify("RuntimeError", (), "this is not installed on SM 9", expected)[0] == "refused"
    assert classify("RuntimeError", (), "this is not installed on SM 9", SUPPORTED)[0] == "unavailable"


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("open /home/jo/x/kernel.cu failed", "open <path>/kernel.cu failed"),
        ("open /home/jo/secret failed", "open <path> failed"),
        ("get https://host.example.com/x?token=1 now", "get <url> now"),
        ("at 10.1.2.3:8080", "at <host>"),
        ("on node7.internal", "on <host>"),
        ("ptr 0x7f00aabbccdd", "ptr <address>"),
        ("head_dim 16/32 and/or 3.5", "head_dim 16/32 and/or 3.5"),
        ("Supported: float16/bfloat16", "Supported: float16/bfloat16"),
        ("open '/home/Jo Ann/My Models/x' now", "open '<path>' now"),
        ("open '/home/Jo Ann/My Models/k.cu'", "open '<path>/k.cu'"),
        ("mail jo.ann@node-17 of node-17.example.com", "mail <user> of <host>"),
        ("at fe80::1ff:fe23:4567:890a, 2001:db8:0:0:1:2:3:4", "at <host>, <host>"),
        ("GPU-1234abcd-12ab-34cd-56ef-1234567890ab", "<device>"),
        ("token hf_abcdefghijklmnop", "token <token>"),
        ("at::Tensor c10::Half torch.nn.functional 12:30:45 m16n8k16", None),
        ("in <path>/page.cuh:653: and <path>", None),
        ("c++ -I/tmp/site/flashinfer/data -L/opt/cuda/lib64 -DN=1", "c++ -I<path> -L<path> -DN=1"),
    ],
)
def test_texts_lose_what_identifies_a_machine(text: str, kept: str | None) -> None:
    assert scrub(text) == (text if kept is None else kept)
    assert scrub(scrub(text)) == scrub(text)


def test_texts_lose_the_names_of_this_machine_and_user(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("socket.gethostname", lambda: "trainer-07")
    monkeypatch.setattr("getpass.getuser", lambda: "j.doe")
    names.cache_clear()
    assert scrub("j.doe on trainer-07, trainers") == "<user> on <host>, trainers"
    names.cache_clear()


@pytest.mark.parametrize("part", ["a-", "a.", "/a", "a+", "a@", "a:", "'/"])
def test_no_text_takes_for_ever(part: str) -> None:
    assert len(scrub(part * 500_000)) <= 1200


def test_long_texts_keep_both_ends() -> None:
    text = scrub("start " + "x" * 5000 + " end")
    assert text.startswith("start")
    assert text.endswith("end")
    assert len(text) <= 1200


EVIDENCE = sorted((Path(__file__).parents[2] / "docs" / "evidence").glob("*.json"))
_ABSOLUTE = re.compile(r"(?<![\w>.])/(?:[\w.+-]+/)+|-[ILB]/\w")


def test_published_evidence_names_no_folder() -> None:
    assert EVIDENCE
    texts = [(path.name, cell.text) for path in EVIDENCE for cell in read_evidence(path).cells if cell.text]
    assert texts
    assert [(name, found[0]) for name, text in texts if (found := _ABSOLUTE.search(text))] == []
