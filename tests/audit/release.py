"""A small engine and a small library of our own, in the shapes of the real ones, and the matrix that describes them."""

# ruff: noqa: E501 - the texts of planted changes and of the matrix are lines of their own files

from __future__ import annotations

import functools
import tempfile
import zipfile
from collections.abc import Mapping
from pathlib import Path

from compatcheck.audit import child
from compatcheck.audit.guards import records
from compatcheck.audit.messages import Request, Source

MATRIX = """\
schema: 1
sms:
  "8.0": {family: 8.x, arch: Ampere, gpus: [A100]}
  "9.0": {family: 9.x, arch: Hopper, gpus: [H200]}
  "12.0": {family: 12.x, arch: Blackwell, gpus: [RTX 5090]}
kv_cache_dtypes:
  auto: {title: own, bits: "16"}
  fp8: {title: FP8, bits: "8"}
  nvfp4: {title: NVFP4, bits: 9/2}
libraries:
  flashinfer:
    title: FlashInfer
    releases: ["0.6.12", "0.6.15"]
engines:
  vllm:
    title: vLLM
    releases: {"0.1.0": {flashinfer: "0.6.12", torch: "2.10.0", cuda: "13.0"},
      "0.3.0": {flashinfer: "0.6.15", torch: "2.11.0"}}
    forced_words: "{backend} is not valid: {reasons}"
    none_words: none found
    kv_cache_dtypes:
      - {since: "0.1.0", values: [auto, fp8, nvfp4]}
    defaults: {dtypes: [float16, bfloat16], kv_cache_dtypes: [{values: auto}], sms: true, sinks: false, mla: false, sparse: false, attn_types: [decoder]}
    selector:
      - {check: head_size, code: selector-head-size, words: head_size not supported}
      - {check: dtype, code: selector-dtype, words: dtype not supported}
      - {check: kv_cache_dtype, code: selector-kv-cache-dtype, words: kv_cache_dtype not supported}
      - {check: block_size, code: selector-block-size, words: block_size not supported}
      - {check: mla, code: selector-mla, words: MLA not supported}
      - {check: non_mla, code: selector-non-mla, words: non-MLA not supported}
      - {check: has_sink, code: selector-has-sink, words: attention sinks not supported}
      - {check: sm, code: selector-sm, words: compute capability not supported}
      - {check: attn_type, code: selector-attn-type, words: "attention type {attn_type} not supported"}
      - {check: joint_rules, code: selector-combination, words: (the rule's own)}
    prefill_selector: []
    facts: {}
    backends:
      PLAIN:
        title: plain
        since: "0.1.0"
        head_sizes: [{values: [64, 128]}]
        block_sizes: [{values: 16}]
        sources: [vllm/v1/attention/backends/plain.py:PlainBackend@0.3.0]
      GATED:
        title: gated
        since: "0.1.0"
        kv_cache_dtypes: [{values: [auto, fp8]}, {values: nvfp4, when: {sm: 12.x}}]
        head_sizes: [{values: {multiple_of: 8, le: 256}}]
        sms: {sm: [9.x, 12.x]}
        sinks: {use_batch_invariant: false, sm: 9.x}
        joint_rules:
          - {code: gated-wide, when: {kv_cache_dtype: nvfp4, head_size: {gt: 128}}, words: "no {kv_cache_dtype} at head_size {head_size}"}
        sources: [vllm/v1/attention/backends/gated.py:GatedBackend@0.3.0]
    mla_prefill_backends: {}
    priorities:
      - since: "0.1.0"
        cases: [{order: [GATED, PLAIN], when: {sm: 12.x}}, {order: [PLAIN, GATED]}]
    mla_prefill_priorities: []
    mla_model_types: []
    routes:
      plain.any: {title: any, kv_write: flashinfer.append, prefill: flashinfer.run}
    routing:
      - {when: {backend: PLAIN}, route: plain.any}
kernels:
  flashinfer.append:
    title: append
    library: flashinfer
    symbol: flashinfer.page:append
    phase: write
    sms: [8.x, 9.x, 12.x]
    sources: [flashinfer/page.py:append@0.6.12]
  flashinfer.run:
    title: run
    library: flashinfer
    symbol: flashinfer.prefill:run
    since: "0.6.15"
    phase: prefill
    sms: [9.x, 12.x]
    refusals:
      - {code: run-sm, when: {sm: 8.x}, exception: BackendSupportedError, match: does not support,
         sources: [flashinfer/prefill.py:run@0.6.15]}
    sources: [flashinfer/prefill.py:run@0.6.15]
rules: {}
"""

_SELECTOR = """
    @classmethod
    def validate_configuration(cls, head_size, dtype, kv_cache_dtype, block_size, use_mla, has_sink, use_sparse,
                               use_mm_prefix, device_capability, attn_type):
        invalid_reasons = []
        if not cls.supports_head_size(head_size):
            invalid_reasons.append("head_size not supported")
        if not cls.supports_dtype(dtype):
            invalid_reasons.append("dtype not supported")
        if not cls.supports_kv_cache_dtype(kv_cache_dtype):
            invalid_reasons.append("kv_cache_dtype not supported")
        if not cls.supports_block_size(block_size):
            invalid_reasons.append("block_size not supported")
        if use_mla != cls.is_mla():
            if use_mla:
                invalid_reasons.append("MLA not supported")
            else:
                invalid_reasons.append("non-MLA not supported")
        if has_sink and not cls.supports_sink():
            invalid_reasons.append("attention sinks not supported")
        if not cls.supports_compute_capability(device_capability):
            invalid_reasons.append("compute capability not supported")
        if not cls.supports_attn_type(attn_type):
            invalid_reasons.append(f"attention type {attn_type} not supported")
        combination_reason = cls.supports_combination(
            head_size, dtype, kv_cache_dtype, block_size, use_mla, has_sink, use_sparse, use_mm_prefix, device_capability
        )
        if combination_reason is not None:
            invalid_reasons.append(combination_reason)
        return invalid_reasons
"""

ENGINE: Mapping[str, str] = {
    "vllm/__init__.py": "",
    "vllm/config/__init__.py": "def get_current_vllm_config():\n    return _current\n",
    "vllm/config/cache.py": 'from typing import Literal\n\nCacheDType = Literal["auto", "fp8", "nvfp4"]\n',
    "vllm/envs.py": "import os\n\nenvironment_variables = {\n"
    '    "VLLM_BATCH_INVARIANT": lambda: bool(int(os.getenv("VLLM_BATCH_INVARIANT", "0"))),\n'
    '    "VLLM_SWITCH": lambda: bool(int(os.getenv("VLLM_SWITCH", "0"))),\n}\n',
    "vllm/platforms/__init__.py": "from vllm.platforms.cuda import CudaPlatformBase\n",
    "vllm/platforms/interface.py": """
from typing import NamedTuple


class DeviceCapability(NamedTuple):
    major: int
    minor: int


class Platform:
    @classmethod
    def get_device_capability(cls, device_id=0):
        return None

    @classmethod
    def is_device_capability_family(cls, family):
        capability = cls.get_device_capability()
        return capability is not None and capability.to_int() // 10 == family // 10
""",
    "vllm/platforms/cuda.py": """
from vllm.platforms.interface import Platform
from vllm.v1.attention.backends.registry import AttentionBackendEnum


class CudaPlatformBase(Platform):
    pass


def _get_backend_priorities(use_mla, device_capability, num_heads=None):
    if device_capability.major == 12:
        return [AttentionBackendEnum.GATED, AttentionBackendEnum.PLAIN]
    return [AttentionBackendEnum.PLAIN, AttentionBackendEnum.GATED]
""",
    "vllm/v1/attention/backend.py": """
from typing import ClassVar

import torch


class MultipleOf:
    def __init__(self, base):
        self.base = base


class AttentionBackend:
    supported_dtypes: ClassVar[list] = [torch.float16, torch.bfloat16]
    supported_kv_cache_dtypes: ClassVar[list] = ["auto"]

    @staticmethod
    def get_supported_kernel_block_sizes():
        return [MultipleOf(1)]

    @classmethod
    def get_supported_head_sizes(cls):
        return []

    @classmethod
    def supports_head_size(cls, head_size):
        sizes = cls.get_supported_head_sizes()
        return not sizes or head_size in sizes

    @classmethod
    def supports_dtype(cls, dtype):
        return dtype in cls.supported_dtypes

    @classmethod
    def supports_kv_cache_dtype(cls, kv_cache_dtype):
        return kv_cache_dtype in cls.supported_kv_cache_dtypes

    @classmethod
    def supports_block_size(cls, block_size):
        if block_size is None:
            return True
        for size in cls.get_supported_kernel_block_sizes():
            if block_size % (size.base if isinstance(size, MultipleOf) else size) == 0:
                return True
        return False

    @classmethod
    def is_mla(cls):
        return False

    @classmethod
    def is_sparse(cls):
        return False

    @classmethod
    def supports_sink(cls):
        return False

    @classmethod
    def supports_compute_capability(cls, capability):
        return True

    @classmethod
    def supports_attn_type(cls, attn_type):
        return attn_type == "decoder"

    @classmethod
    def supports_combination(cls, head_size, dtype, kv_cache_dtype, block_size, use_mla, has_sink, use_sparse,
                             use_mm_prefix, device_capability):
        return None
"""
    + _SELECTOR,
    "vllm/v1/attention/backends/__init__.py": "",
    "vllm/v1/attention/backends/registry.py": """
from enum import Enum


class AttentionBackendEnum(Enum):
    PLAIN = "vllm.v1.attention.backends.plain.PlainBackend"
    GATED = "vllm.v1.attention.backends.gated.GatedBackend"
    ROCM_OTHER = "vllm.v1.attention.backends.other.OtherBackend"
    CUSTOM = None
""",
    "vllm/v1/attention/backends/plain.py": """
from vllm.v1.attention.backend import AttentionBackend


class PlainBackend(AttentionBackend):
    @staticmethod
    def get_supported_kernel_block_sizes():
        return [16]

    @classmethod
    def get_supported_head_sizes(cls):
        return [64, 128]
""",
    "vllm/v1/attention/backends/gated.py": """
import vllm.envs as envs
from vllm.platforms import current_platform
from vllm.v1.attention.backend import AttentionBackend


class GatedBackend(AttentionBackend):
    supported_kv_cache_dtypes = ["auto", "fp8", "nvfp4"]

    @classmethod
    def supports_head_size(cls, head_size):
        return head_size % 8 == 0 and head_size <= 256

    @classmethod
    def supports_kv_cache_dtype(cls, kv_cache_dtype):
        if kv_cache_dtype.startswith("nvfp4"):
            return current_platform.is_device_capability_family(120)
        return super().supports_kv_cache_dtype(kv_cache_dtype)

    @classmethod
    def supports_sink(cls):
        if envs.VLLM_BATCH_INVARIANT:
            return False
        return current_platform.is_device_capability_family(90)

    @classmethod
    def supports_compute_capability(cls, capability):
        return capability.major in (9, 12)

    @classmethod
    def supports_combination(cls, head_size, dtype, kv_cache_dtype, block_size, use_mla, has_sink, use_sparse,
                             use_mm_prefix, device_capability):
        if kv_cache_dtype == "nvfp4" and head_size > 128:
            return f"no {kv_cache_dtype} at head_size {head_size}"
        return None
""",
    "vllm-0.3.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: vllm\nVersion: 0.3.0\n"
    "Requires-Dist: torch==2.11.0\nRequires-Dist: flashinfer-python==0.6.15\n\nA small engine.\n",
}

LIBRARY: Mapping[str, str] = {
    "flashinfer/__init__.py": "from .page import append as append\n",
    "flashinfer/page.py": "def append(key, value, *, scale=None):\n    return key, value, scale\n",
    "flashinfer/prefill.py": """
from flashinfer.utils import backend_requirement, supported_compute_capability


@supported_compute_capability([90, 120])
def _check(query, key):
    return True


@backend_requirement({}, common_check=_check)
def run(query, key):
    return query, key
""",
    "flashinfer/utils.py": "def supported_compute_capability(ccs):\n    return lambda function: function\n\n\n"
    "def backend_requirement(checks, common_check=None):\n    return lambda function: function\n",
    "flashinfer_python-0.6.15.dist-info/METADATA": "Metadata-Version: 2.1\nName: flashinfer-python\nVersion: 0.6.15\n"
    "Provides-Extra: cu13\nRequires-Dist: torch\n\nA small library.\n",
}


def wheel(folder: Path, files: Mapping[str, str], *, changed: Mapping[str, tuple[str, str]] | None = None) -> Path:
    """Return a wheel of these files; `changed` plants (old, new) in some of them."""
    metadata = next(name for name in files if name.endswith("METADATA"))
    path = folder / f"{metadata.partition('.dist-info')[0]}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in {**files, **planted(files, changed or {})}.items():
            archive.writestr(name, text)
    return path


def planted(files: Mapping[str, str], changed: Mapping[str, tuple[str, str]]) -> dict[str, str]:
    """Return the changed files."""
    found: dict[str, str] = {}
    for name, (old, new) in changed.items():
        text = files.get(name, "")
        assert not old or text.count(old) == 1, f"{old!r} occurs {text.count(old)} times in {name}"
        found[name] = text.replace(old, new) if old else new
    return found


def matrix(folder: Path) -> Path:
    """Return the matrix file."""
    path = folder / "matrix.yaml"
    path.write_text(MATRIX, encoding="utf-8")
    return path


def nothing_acknowledged(folder: Path) -> Path:
    """Return a file of acknowledged gates that names none, beside the guards of the releases as they are here."""
    path = folder / "acknowledged.json"
    path.write_text('{"schema": 1, "gates": []}', encoding="utf-8")
    (folder / "guards.json").write_text(guards(), encoding="utf-8")
    return path


@functools.cache
def guards() -> str:
    """Return the file of guards that a person would have recorded of both releases."""
    recorded = records.Records()
    with tempfile.TemporaryDirectory() as folder:
        asked = Request(
            vllm=Source(path=str(wheel(Path(folder), ENGINE))),
            flashinfer=Source(path=str(wheel(Path(folder), LIBRARY))),
            sms=["9.0"],
            kv_cache_dtypes=["auto"],
            symbols=["flashinfer.page:append", "flashinfer.prefill:run"],
            only_guards=True,
        )
        said = child.answer(asked)
    assert said.vllm is not None
    assert said.flashinfer is not None
    records.record(recorded.vllm, "0.3.0", said.vllm.guards)
    records.record(recorded.flashinfer, "0.6.15", said.flashinfer.guards)
    return records.text(recorded)
