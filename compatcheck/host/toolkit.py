"""The CUDA toolkit as FlashInfer's JIT compiler resolves it: not always what `nvcc --version` shows.

The order is that of flashinfer/jit/cpp_ext.py:get_cuda_path (the same text from 0.6.8.post1 to 0.7.4):
CUDA_HOME, else CUDA_PATH, else two directories above what `which nvcc` prints (symbolic links not followed),
else /usr/local/cuda. The version is that of ROOT/bin/nvcc, and torch's own CUDA where that program does not
exist. Headers are looked for in ROOT/include, libraries in ROOT/lib64 and ROOT/lib64/stubs
(cpp_ext.py:get_system_includes and generate_ninja_build_for_op), `ninja` on PATH.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from compatcheck.host.model import Toolkit, ToolkitSource
from compatcheck.host.privacy import without_paths

HEADERS = (
    "cuda.h",
    "cuda_runtime.h",
    "cuda_fp8.h",
    "cuda_fp4.h",
    "curand.h",
    "curand_kernel.h",
    "cublas_v2.h",
    "cublasLt.h",
    "nvrtc.h",
)
"""Toolkit headers that FlashInfer's sources include (counted over flashinfer/data of 0.6.15)."""

LIBRARIES = ("libcudart.so", "libcuda.so")
"""What every JIT module is linked to: -lcudart -lcuda."""

DEFAULT_ROOT = "/usr/local/cuda"

_NVCC_SECONDS = 30
_HEADER_BYTES = 1 << 20
_CUDART = re.compile(r"^[ \t]*#[ \t]*define[ \t]+CUDART_VERSION[ \t]+(\d{4,6})\b", re.MULTILINE)
_RELEASE = re.compile(r"release (\d+\.\d+),")
_BUILD = re.compile(r"\bV(\d+\.\d+\.\d+)")


class Root(NamedTuple):
    """Where the toolkit is, what decided it, and why there is none. Never leaves the process."""

    path: str
    source: ToolkitSource
    error: str | None = None


def resolve_root(environ: Mapping[str, str], default: str = DEFAULT_ROOT) -> Root:
    """Return the toolkit root that flashinfer/jit/cpp_ext.py:get_cuda_path would return."""
    if environ.get("CUDA_HOME"):
        return Root(environ["CUDA_HOME"], "CUDA_HOME")
    if environ.get("CUDA_PATH") is not None:  # an empty CUDA_PATH wins too: the library tests `is not None`
        return Root(environ["CUDA_PATH"], "CUDA_PATH")
    search = environ.get("PATH")
    if shutil.which("which", path=search) is None:
        return Root("", "none", "the program `which`, by which FlashInfer looks for nvcc, is not on PATH")
    nvcc = shutil.which("nvcc", path=search)
    if nvcc is not None:
        return Root(os.path.dirname(os.path.dirname(nvcc)), "PATH")
    if os.path.exists(default):
        return Root(default, "default")
    return Root("", "none", "no CUDA_HOME, no CUDA_PATH, no nvcc on PATH, and the default directory does not exist")


def inspect_toolkit(environ: Mapping[str, str] | None = None, default: str = DEFAULT_ROOT) -> Toolkit:
    """Return what FlashInfer would find when it compiles a kernel under this environment."""
    given = os.environ if environ is None else environ
    search = given.get("PATH")
    root = resolve_root(given, default)
    release, build, error = None, None, None
    has_nvcc = False
    if root.source != "none":
        nvcc = os.path.join(root.path, "bin", "nvcc")
        has_nvcc = os.path.isfile(nvcc)
        if has_nvcc:
            release, build, error = nvcc_version(nvcc, given)
    include = Path(root.path, "include")
    found = root.source != "none"
    return Toolkit(
        source=root.source,
        nvcc=has_nvcc,
        cuda_version=release,
        nvcc_build=build,
        nvcc_error=error,
        nvcc_on_path=shutil.which("nvcc", path=search) is not None,
        headers={name: (include / name).is_file() for name in HEADERS} if found else {},
        headers_version=headers_version(root.path) if has_nvcc else None,
        libraries={name: _library(name, root.path, given) for name in LIBRARIES} if found else {},
        ninja=shutil.which("ninja", path=search) is not None,
        host_compiler=_host_compiler(given),
        error=root.error,
    )


def nvcc_version(nvcc: str, environ: Mapping[str, str]) -> tuple[str | None, str | None, str | None]:
    """Run `nvcc --version`; return (release '12.8', build '12.8.93', error), the error without paths."""
    import subprocess

    try:
        done = subprocess.run(  # noqa: S603 - the very program that FlashInfer would run
            [nvcc, "--version"],
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_NVCC_SECONDS,
            env=dict(environ),
            stdin=subprocess.DEVNULL,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return None, None, f"nvcc --version did not end within {_NVCC_SECONDS} s"
    except (OSError, ValueError) as error:
        return None, None, without_paths(f"nvcc cannot be run: {getattr(error, 'strerror', None) or error}")
    if done.returncode != 0:
        last = (done.stderr or done.stdout).strip().splitlines()[-1:]
        return None, None, without_paths(f"nvcc --version ended with {done.returncode}: {' '.join(last)}")
    release = _RELEASE.search(done.stdout)
    if release is None:
        return None, None, "nvcc --version names no release"
    build = _BUILD.search(done.stdout)
    return release[1], build[1] if build else None, None


def headers_version(root: str) -> str | None:
    """Return the release that ROOT/include is of ('13.0'), from CUDART_VERSION in cuda_runtime_api.h.

    None where there is no such header, or where ROOT/bin/nvcc is a link out of ROOT: which headers nvcc takes first is
    then not known.
    """
    nvcc = os.path.realpath(os.path.join(root, "bin", "nvcc"))
    if os.path.dirname(os.path.dirname(nvcc)) != os.path.realpath(root):
        return None
    try:
        with open(os.path.join(root, "include", "cuda_runtime_api.h"), encoding="utf-8", errors="replace") as stream:
            text = stream.read(_HEADER_BYTES)
    except OSError:
        return None
    found = _CUDART.search(text)
    if found is None:
        return None
    number = int(found[1])
    return f"{number // 1000}.{number % 1000 // 10}"


def _library(name: str, root: str, environ: Mapping[str, str]) -> bool | None:
    """Return whether the linker would find a library in FlashInfer's, LIBRARY_PATH's or its own places."""
    extra = [entry for entry in environ.get("LIBRARY_PATH", "").split(os.pathsep) if entry]
    for directory in (f"{root}/lib64", f"{root}/lib64/stubs", *extra, *_system_directories()):
        if os.path.isfile(os.path.join(directory, name)):
            return True
    # FLASHINFER_EXTRA_LDFLAGS may name further directories, in any of ld's spellings.
    return None if environ.get("FLASHINFER_EXTRA_LDFLAGS") else False


def _system_directories() -> tuple[str, ...]:
    machine = os.uname().machine if hasattr(os, "uname") else ""
    triplet = f"{machine}-linux-gnu"
    return tuple(
        f"{prefix}/{name}" for prefix in ("/usr/local", "", "/usr") for name in (f"lib/{triplet}", "lib64", "lib")
    )


def _host_compiler(environ: Mapping[str, str]) -> bool:
    """Return whether the C++ compiler that links modules exists: $CXX, else c++."""
    words = environ.get("CXX", "c++").split()
    return bool(words) and shutil.which(words[0], path=environ.get("PATH")) is not None
