"""What a host has, as plain data: collected here, saved as JSON, judged by `problems` and the resolver.

A document never holds a file-system path, a GPU's UUID, a host name or a user name: it is made to be pasted
into an issue or carried to another machine.
"""

from __future__ import annotations

from typing import Literal

import msgspec

SCHEMA = 1
"""Version of the JSON document. A reader refuses any other."""

DriverState = Literal[
    "ok",
    "not-queried",
    "no-module",
    "no-library",
    "driver-not-loaded",
    "library-mismatch",
    "no-permission",
    "gpu-lost",
    "error",
]
"""What NVML said when it was started: see `compatcheck.host.nvml`."""

ToolkitSource = Literal["CUDA_HOME", "CUDA_PATH", "PATH", "default", "none", "not-queried"]
"""What decided the CUDA toolkit root that FlashInfer's JIT compiler would use."""

Severity = Literal["error", "warning", "info"]
"""error: something fails or gives wrong output; warning: it may, or is slow; info: worth knowing."""

BrokenKind = Literal["no-metadata", "no-version", "bad-version", "unreadable", "duplicate", "leftover"]
"""What is wrong with an installed distribution's metadata."""


class Record(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Base of every part of a host document: immutable, and unknown fields are refused."""


class MigInstance(Record, frozen=True, kw_only=True):
    """One MIG slice of a GPU."""

    index: int
    name: str | None = None
    memory_bytes: int | None = None


class Mig(Record, frozen=True, kw_only=True):
    """Multi-instance mode of a GPU; `enabled` is None where NVML could not say."""

    enabled: bool | None = None
    instances: tuple[MigInstance, ...] = ()


class Gpu(Record, frozen=True, kw_only=True):
    """One GPU as NVML lists it (PCI order, which is not always CUDA's order).

    `sm` is the compute capability, '9.0'. `memory_bytes` is None where the GPU shares the host's memory.
    `visible` says whether CUDA_VISIBLE_DEVICES lets a process see it; None where the order of CUDA's own
    enumeration is needed to know. `errors` holds what NVML refused to answer, one text per query.
    """

    index: int
    name: str | None = None
    sm: str | None = None
    memory_bytes: int | None = None
    mig: Mig = Mig()
    visible: bool | None = True
    lost: bool = False
    errors: tuple[str, ...] = ()


class Driver(Record, frozen=True, kw_only=True):
    """The NVIDIA driver: version, newest CUDA it runs ('13.0'), and NVML's own words when it failed."""

    state: DriverState = "ok"
    version: str | None = None
    cuda_version: str | None = None
    error: str | None = None


class Toolkit(Record, frozen=True, kw_only=True):
    """The CUDA toolkit that FlashInfer's JIT compiler would use, and what else it needs to build.

    `headers` and `libraries` say what was found where FlashInfer tells the compiler and the linker to look;
    None means that it cannot be told from outside. `cuda_version` is nvcc's release ('12.8'), `nvcc_build`
    the full build ('12.8.93'), `headers_version` the release that the headers beside nvcc are of ('12.8').
    """

    source: ToolkitSource = "none"
    nvcc: bool = False
    cuda_version: str | None = None
    nvcc_build: str | None = None
    nvcc_error: str | None = None
    nvcc_on_path: bool = False
    headers: dict[str, bool] = {}
    headers_version: str | None = None
    libraries: dict[str, bool | None] = {}
    ninja: bool = False
    host_compiler: bool = False
    error: str | None = None


class Package(Record, frozen=True, kw_only=True):
    """One installed distribution.

    `version` is the metadata's, local part included ('2.11.0+cu130'); `local` is that part alone ('cu130').
    `module_version` is what the package's own files say, which is what FlashInfer compares at import. `cuda`
    is the CUDA that torch was built for ('13.0'), None for a CPU build; `rocm` the HIP version of a ROCm
    build. `requires` maps the packages that matter here to the version range asked for ('==0.6.13').
    """

    name: str
    version: str | None = None
    local: str | None = None
    editable: bool = False
    module_version: str | None = None
    cuda: str | None = None
    rocm: str | None = None
    requires: dict[str, str] = {}


class BrokenPackage(Record, frozen=True, kw_only=True):
    """A distribution whose metadata cannot be trusted. `entry` is the name of its metadata directory."""

    name: str
    entry: str
    kind: BrokenKind
    detail: str


class System(Record, frozen=True, kw_only=True):
    """Operating system ('Linux'), distribution ('debian 12'), machine ('x86_64'), C library, Python."""

    os: str | None = None
    distribution: str | None = None
    machine: str | None = None
    libc: str | None = None
    python: str | None = None
    wsl: bool = False


class Host(Record, frozen=True, kw_only=True):
    """Everything collected from one host. Nothing in it is a judgement.

    `flashinfer_symbols` says whether the installed FlashInfer defines a function anywhere in its public
    modules, `flashinfer_exports` whether `from flashinfer import NAME` would find it; None means that it
    cannot be told (no FlashInfer, an unreadable file, a name bound only under a condition). `vllm_imports`
    maps every name that the installed vLLM's FlashInfer backend imports
    ('flashinfer.decode:fast_decode_plan') to whether the installed FlashInfer has it, and `vllm_reads`
    whether that vLLM mentions an environment variable at all. `environment` holds the variables that are set;
    a value of None was withheld (a path or a UUID).
    """

    document: Literal["compatcheck-host"] = "compatcheck-host"
    schema: Literal[1] = 1
    tool: str | None = None
    system: System = System()
    driver: Driver = Driver(state="not-queried")
    gpus: tuple[Gpu, ...] = ()
    toolkit: Toolkit = Toolkit(source="not-queried")
    packages: dict[str, Package] = {}
    broken_packages: tuple[BrokenPackage, ...] = ()
    flashinfer_symbols: dict[str, bool | None] = {}
    flashinfer_exports: dict[str, bool | None] = {}
    flashinfer_import_queries_gpu: bool | None = None
    unreadable_files: tuple[str, ...] = ()
    vllm_imports: dict[str, bool | None] = {}
    vllm_reads: dict[str, bool | None] = {}
    environment: dict[str, str | None] = {}

    def version(self, name: str) -> str | None:
        """Return the installed version of a distribution, local part included, or None."""
        package = self.packages.get(name)
        return package.version if package else None

    def importable(self, name: str) -> bool | None:
        """Return whether `from flashinfer import NAME` finds it, as far as the files tell."""
        answer = self.flashinfer_exports.get(name)
        return False if answer is None and self.flashinfer_symbols.get(name) is False else answer

    def usable_gpus(self) -> tuple[Gpu, ...]:
        """Return the GPUs that CUDA could use here: not lost, and not known to be hidden."""
        return tuple(gpu for gpu in self.gpus if not gpu.lost and gpu.visible is not False)

    def sms(self) -> tuple[str, ...]:
        """Return the distinct compute capabilities of the usable GPUs, in NVML order."""
        return tuple(dict.fromkeys(gpu.sm for gpu in self.usable_gpus() if gpu.sm is not None))


class Problem(Record, frozen=True, kw_only=True):
    """One finding of `compatcheck.host.problems.diagnose`.

    `who` refuses or misbehaves, `required` and `found` are the two sides of it, `message` says it in a
    sentence, `fix` is a command or a setting, `source` is where the fact was seen.
    """

    code: str
    severity: Severity
    who: str
    message: str
    required: str
    found: str
    fix: str
    source: str
