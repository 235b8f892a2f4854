"""From an exception to an outcome: what was missing, what was refused, what broke. Judged in the parent, from text."""

from __future__ import annotations

import re

from compatcheck.smoke.outcome import Expectation, Missing, Outcome

_MISSING: tuple[tuple[Missing, re.Pattern[str]], ...] = (
    (
        "artifact",
        re.compile(r"Artifact not found|checksums?\.txt|Failed to get (?:artifact|cubin)|cubin.*not found", re.I),
    ),
    (
        "network",
        re.compile(
            r"NameResolutionError|Name or service not known|Temporary failure in name resolution|Max retries exceeded"
            r"|Connection (?:refused|reset|aborted)|Network is unreachable|Failed to establish a new connection",
            re.I,
        ),
    ),
    (
        "package",
        re.compile(
            r"CuTe ?DSL is not available|No module named|not installed|pip install|cudnn.{0,40}not available", re.I
        ),
    ),
    ("library", re.compile(r"cannot find -l(\w+)")),
    ("source", re.compile(r"missing and no known rule to make it", re.I)),
    ("header", re.compile(r"fatal error: ([\w./+-]+): No such file|cannot open source file \"([^\"]+)\"", re.I)),
    (
        "compiler",
        re.compile(
            r"Could not find CUDA|nvcc.*(?:not found|No such file)|CUDA_HOME|ninja.*(?:not found|No such file)", re.I
        ),
    ),
)
_STICKY = re.compile(
    r"illegal memory access|misaligned address|unspecified launch failure|device-side assert|illegal instruction"
    r"|invalid program counter|invalid device context"
    r"|CUDA error: (?:an |a )?(?:illegal|misaligned|unspecified|hardware)"
    r"|cudaErrorIllegalAddress|CUDA_ERROR_ILLEGAL_ADDRESS|uncorrectable ECC|GPU has fallen off",
    re.I,
)
_MEMORY = re.compile(r"out of memory|OutOfMemoryError|CUDA_ERROR_OUT_OF_MEMORY|cudaErrorMemoryAllocation", re.I)
_BUILD = re.compile(
    r"Ninja build failed|nvcc fatal|error: static assertion|FAILED: .*cuda\.o|ptxas (?:fatal|error)", re.I
)
_KILLED_BUILD = re.compile(r"\bKilled\b|signal 9|Cannot allocate memory|virtual memory exhausted", re.I)


def classify(
    exception: str, bases: tuple[str, ...], text: str, expected: Expectation
) -> tuple[Outcome, Missing | None, str | None]:
    """Return outcome, the kind of thing that is missing, and what: for an exception in a worker.

    Declared words come first: a refusal whose text happens to name a package is still that refusal.
    """
    names = (exception, *bases)
    named = not expected.exception or expected.exception in names
    declared = expected.kind in ("refused", "compile-error") and named and bool(expected.match)
    if declared and re.search(expected.match or "", text, re.DOTALL):
        built = expected.kind == "compile-error" or _BUILD.search(text) is not None
        return ("compile-error" if built else "refused"), None, None
    if "SymbolMissingError" in names:
        return "unavailable", "symbol", text
    if "DriverGapError" in names:
        return "unavailable", "driver", text
    if "ModuleNotFoundError" in names or "ImportError" in names:
        return "unavailable", "package", text.splitlines()[0] if text else exception
    if sticky(text) or exhausted(names, text):
        return "crashed", None, None
    if "MemoryError" in names or "OutOfMemoryError" in names or _MEMORY.search(text):
        return "crashed", None, None
    if "cudnnGraphNotSupportedError" in names:
        # It lists why each engine declined, among them optional ones that are not installed: none of that is missing.
        return "refused", None, None
    for kind, pattern in _MISSING:
        found = pattern.search(text)
        if found:
            return "unavailable", kind, next((g for g in found.groups() if g), found[0])
    if _BUILD.search(text):
        return "compile-error", None, None
    return "refused", None, None


def sticky(text: str) -> bool:
    """Return whether the text tells of a CUDA fault after which the process cannot use the GPU any more."""
    return _STICKY.search(text) is not None


def out_of_memory(exception: str, text: str) -> bool:
    """Return whether memory, of the host or the GPU, ran out."""
    return exception in ("MemoryError", "OutOfMemoryError") or _MEMORY.search(text) is not None


def exhausted(names: tuple[str, ...], text: str) -> bool:
    """Return whether the process, and no library, gave up: an exit, an interrupt, no stack or descriptors left."""
    if any(name in names for name in ("SystemExit", "KeyboardInterrupt", "GeneratorExit", "RecursionError")):
        return True
    beyond = "BaseException" in names and "Exception" not in names
    return beyond or "Too many open files" in text


def build_failed(text: str) -> bool:
    """Return whether nvcc (not FlashInfer's own check) failed."""
    return _BUILD.search(text) is not None


def build_killed(text: str) -> bool:
    """Return whether a compiler was killed or ran out of memory: worth one more try, alone."""
    return _KILLED_BUILD.search(text) is not None
