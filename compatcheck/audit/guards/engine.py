"""Which pieces of a vLLM release are watched by fingerprint because nothing evaluates them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Mapping

from compatcheck.audit.guards import classes, modules
from compatcheck.audit.guards.item import Guard
from compatcheck.audit.guards.names import FUNCTIONS, Found, Names
from compatcheck.audit.guards.reach import Reach
from compatcheck.audit.reading.source import Program

REGISTRY = "vllm.v1.attention.backends.registry"
PREFILL = "vllm.v1.attention.backends.mla.prefill"
LINEAR = "vllm.model_executor.kernels.linear"
CUDA = "vllm.platforms.cuda"

ROOTS: Mapping[str, tuple[tuple[str, str, int], ...]] = {
    "linear selection": (
        (LINEAR, "init_nvfp4_linear_kernel", 3),
        (LINEAR, "register_linear_kernel", 2),
        ("vllm.config.kernel", "LinearBackend", 0),
        ("vllm.model_executor.layers.quantization.utils.nvfp4_utils", "select_nvfp4_linear_backend", 3),
    ),
    "backend selection": (
        (CUDA, "CudaPlatformBase.get_valid_backends", 3),
        (CUDA, "CudaPlatformBase.get_attn_backend_cls", 3),
        (CUDA, "CudaPlatformBase.check_and_update_config", 2),
        (CUDA, "CudaPlatformBase.get_device_capability", 2),
        (CUDA, "NvmlCudaPlatform.get_device_capability", 2),
        (CUDA, "NonNvmlCudaPlatform.get_device_capability", 2),
        ("vllm.platforms.interface", "DeviceCapability.to_int", 1),
    ),
    "KV-cache dtypes": (
        ("vllm.config.cache", "KV_CACHE_DTYPES", 1),
        ("vllm.config.cache", "is_known_kv_cache_dtype", 2),
    ),
    "host questions": (
        ("vllm.utils.flashinfer", "has_flashinfer", 2),
        ("vllm.utils.flashinfer", "has_nvidia_artifactory", 2),
        ("vllm.utils.flashinfer", "has_flashinfer_cubin", 2),
        ("vllm.utils.import_utils", "has_tilelang", 2),
        ("vllm.utils.import_utils", "has_humming", 2),
        ("vllm.utils.import_utils", "has_fbgemm_gpu", 2),
    ),
}
"""Group -> module, name, and how many calls deep what it calls is watched."""

WHOLE: Mapping[str, tuple[str, ...]] = {
    "backend selection": ("vllm.v1.attention.selector", "vllm.attention.selector", REGISTRY),
    "MLA prefill selection": (f"{PREFILL}.selector", f"{PREFILL}.registry"),
}
"""Modules of which every function is watched."""

_CONFIGURED = re.compile(r"nvfp4|cache_dtype|attention_backend|linear_backend|AttentionBackendEnum|attention_config")
_BUILT = re.compile(r"Impl(Base)?$|MetadataBuilder$")


def read_guards(
    program: Program, backends: Iterable[str], prefill: Iterable[str], evaluated: frozenset[str]
) -> list[Guard]:
    """Return a release's guards, sorted by key.

    `backends` and `prefill` are paths of classes; methods named in `evaluated` are left to the evaluator.
    """
    reach = Reach(Names(program, "vllm"))
    for group, roots in ROOTS.items():
        for module, name, depth in roots:
            reach.name(group, module, name, depth)
    for group, whole in WHOLE.items():
        for module in whole:
            _whole(reach, group, module)
    imported = {module for whole in WHOLE.values() for module in whole} | {LINEAR, CUDA, "vllm.platforms.interface"}
    imported |= _backends(reach, backends, evaluated) | _prefill(reach, prefill) | _linear(reach)
    _configuration(reach)
    imported |= {"vllm.env_override", "vllm.config.cache", "vllm.config.kernel", "vllm.config.attention"}
    for module in modules.imported_with(program, imported):
        parsed = program.module(module)
        if parsed is not None and (module in imported or parsed.package or not module.startswith("vllm.models.")):
            modules.watch(reach, "imports and statements of modules", parsed)
            _environment(reach, parsed.tree)
    return [reach.found[key] for key in sorted(reach.found)]


def _whole(reach: Reach, group: str, module: str) -> None:
    parsed = reach.names.module(module)
    for item in parsed.tree.body if parsed is not None else []:
        if isinstance(item, FUNCTIONS) and parsed is not None:
            reach.function(group, parsed, item, 2, None)
        elif isinstance(item, ast.ClassDef) and parsed is not None:
            classes.watch(reach, group, Found(parsed, item.name, item), lambda name: name != "__repr__", 2)


def _backends(reach: Reach, paths: Iterable[str], evaluated: frozenset[str]) -> set[str]:
    imported: set[str] = set()
    for path in paths:
        module, _, name = path.rpartition(".")
        cls = reach.names.find(module, name)
        if cls is None:
            continue
        found = classes.watch(reach, "backend classes", cls, lambda name: name not in evaluated, 1)
        for home in {one.module.name: one.module for one in found}.values():
            imported.add(home.name)
            for item in home.tree.body:
                if isinstance(item, ast.ClassDef) and _BUILT.search(item.name):
                    built = Found(home, item.name, item)
                    classes.watch(reach, "construction of backends", built, lambda name: name == "__init__", 1)
    return imported


def _prefill(reach: Reach, paths: Iterable[str]) -> set[str]:
    imported: set[str] = set()
    for path in paths:
        module, _, name = path.rpartition(".")
        cls = reach.names.find(module, name)
        if cls is not None:
            found = classes.watch(
                reach, "MLA prefill backends", cls, lambda name: not name.startswith(("run_", "prepare_", "clone")), 1
            )
            imported |= {one.module.name for one in found}
    return imported


def _linear(reach: Reach) -> set[str]:
    """Watch every NVFP4 kernel class: what it needs of a layer, and what its construction refuses."""
    imported: set[str] = set()
    parsed = reach.names.module(f"{LINEAR}.nvfp4")
    files = reach.names.program.files.get("vllm")
    folder = f"{LINEAR}.nvfp4".replace(".", "/") + "/"
    for file in sorted(files.names if files is not None and parsed is not None else ()):
        if not file.startswith(folder) or not file.endswith(".py"):
            continue
        module = reach.names.module(file.removesuffix(".py").removesuffix("/__init__").replace("/", "."))
        for item in module.tree.body if module is not None else []:
            if isinstance(item, ast.ClassDef) and module is not None:
                imported.add(module.name)
                cls = Found(module, item.name, item)
                classes.watch(
                    reach, "linear kernels", cls, lambda name: name in ("can_implement", "__init__", "__post_init__"), 2
                )
    return imported


def _configuration(reach: Reach) -> None:
    """Watch functions of the configuration that speak of KV-cache dtypes, backends or NVFP4."""
    files = reach.names.program.files.get("vllm")
    for file in sorted(files.names if files is not None else ()):
        if not file.startswith("vllm/config/") or not file.endswith(".py"):
            continue
        module = reach.names.module(file.removesuffix(".py").removesuffix("/__init__").replace("/", "."))
        for cls in module.tree.body if module is not None else []:
            for item in cls.body if isinstance(cls, ast.ClassDef) else [cls]:
                if module is not None and isinstance(item, FUNCTIONS) and _speaks(item):
                    held = Found(module, cls.name, cls) if isinstance(cls, ast.ClassDef) else None
                    reach.function("configuration", module, item, 1, held)


def _speaks(node: ast.AST) -> bool:
    for inner in ast.walk(node):
        word = (
            inner.id
            if isinstance(inner, ast.Name)
            else inner.attr
            if isinstance(inner, ast.Attribute)
            else inner.value
            if isinstance(inner, ast.Constant) and isinstance(inner.value, str) and len(inner.value) < 40
            else ""
        )
        if _CONFIGURED.search(word):
            return True
    return False


def _environment(reach: Reach, tree: ast.AST) -> None:
    for inner in ast.walk(tree):
        if isinstance(inner, ast.Attribute) and inner.attr.startswith("VLLM_") and ast.unparse(inner.value) == "envs":
            reach.variable("backends", inner.attr)
