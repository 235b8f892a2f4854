"""Facts about releases that several checks need, each read in the sources it names."""

from __future__ import annotations

from compatcheck.host.model import Host
from compatcheck.matrix.versions import InvalidVersion, Version, parse

UNKNOWN_BUILD = "0.0.0+unknown"
"""FlashInfer's version without _build_meta.py; it then checks nothing (jit/env.py@0.7.2)."""

MISMATCH_IGNORED_SINCE = "0.7.2"
"""From here a wheel of another version is ignored with a warning; before, `import flashinfer` raises.

jit/env.py:_get_cubin_dir and _get_aot_providers@0.7.2, against the same functions of 0.7.1.
"""

JIT_CACHE_EXACT_SINCE = "0.7.0"
"""From here the jit-cache version must equal FlashInfer's but for a local part (jit/env.py@0.7.0).

Before, it only had to begin with it, so that 0.6.15.post1 passes for 0.6.15 (_get_aot_dir@0.6.18.post1).
"""

CUBIN_DIR_FIRST_SINCE = "0.6.16"
"""From here FLASHINFER_CUBIN_DIR is used without a look at flashinfer-cubin (jit/env.py@0.6.16)."""

CUBIN_LEFT_PYPI = "0.6.14"
"""From here flashinfer-cubin is published on FlashInfer's own index only, as flashinfer-jit-cache always was.

https://github.com/vllm-project/vllm/issues/49804
"""

COMPRESS_MODE_SINCE = "0.6.18"
"""From here every build passes --compress-mode=size, which nvcc has from 12.8 on.

jit/core.py:gen_jit_spec@0.6.18.post1, against the same function of 0.6.17.
"""

CCCL_SINCE = "0.6.10"
"""From here FlashInfer brings a CCCL that compares nvcc with the CUDA headers (data/cccl@0.6.10, none in 0.6.9)."""

SM120_CUDA_12_8_SINCE = "0.7.1"
"""From here SM 12.0 compiles with CUDA 12.8; before, it takes 12.9.

compilation_context.py:_normalize_cuda_arch@0.7.1 and @0.7.0.post1.
"""

VLLM_RESOLVES_LIKE_FLASHINFER_SINCE = "0.32.0"
"""From here vLLM looks for nvcc as FlashInfer does, and for ninja; before, for nvcc on PATH.

vllm/utils/flashinfer.py:has_flashinfer@0.32.0 and @0.31.0.
"""

VLLM_SLOT_MAPPING_SINCE = "0.32.0"
"""From here vLLM's FLASHINFER backend imports the slot-mapping writer (its flashinfer.py@0.32.0)."""


def version_of(text: str | None) -> Version | None:
    """Parse a version; None for None and for what does not follow PEP 440."""
    if text is None:
        return None
    try:
        return parse(text)
    except InvalidVersion:
        return None


def at_least(text: str | None, bound: str) -> bool:
    """Return whether a version is known and not older than a bound."""
    version = version_of(text)
    return version is not None and version >= parse(bound)


def before(text: str | None, bound: str) -> bool:
    """Return whether a version is known and older than a bound."""
    version = version_of(text)
    return version is not None and version < parse(bound)


def flashinfer_version(host: Host) -> str | None:
    """Return the version that FlashInfer itself compares: its files', else its metadata's."""
    package = host.packages.get("flashinfer-python")
    return None if package is None else package.module_version or package.version


_LABELS = {"flashinfer-python": "FlashInfer", "vllm": "vLLM"}


def named(host: Host, name: str) -> str:
    """Return a package with its version for a message: 'vLLM 0.33.0', 'torch (version unknown)'."""
    version = flashinfer_version(host) if name == "flashinfer-python" else host.version(name)
    return f"{_LABELS.get(name, name)} {version or '(version unknown)'}"


def own_version(host: Host, name: str) -> str | None:
    """Return the version that a package calls itself, else its metadata's."""
    package = host.packages.get(name)
    return None if package is None else package.module_version or package.version


def cuda_major(text: str | None) -> int | None:
    """Return the major of a CUDA version: 13 for '13.0'."""
    version = version_of(text)
    return version.major if version else None


def wheel_fix(name: str, version: str) -> str:
    """Return what replaces a kernel wheel by the one of a version, or does without it.

    `flashinfer download-kernels` (0.6.18 and later) imports flashinfer first, so it is named only from 0.7.2 on,
    where a mismatch does not make that import fail (flashinfer/__main__.py@0.6.18.post1 and @0.7.2).
    """
    if at_least(version, MISMATCH_IGNORED_SINCE):
        return f"flashinfer download-kernels, or pip uninstall {name}"
    if name == "flashinfer-cubin" and before(version, CUBIN_LEFT_PYPI):
        return f"pip install '{name}=={version}', or pip uninstall {name}"
    return f"pip uninstall {name}, or install {name} {version} from FlashInfer's own package index"
