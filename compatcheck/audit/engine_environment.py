"""What a running vLLM knows and its text does not: the GPU, the configuration, the environment, other packages.

Everything here is either an input (the GPU, an option, a model's dimension), so that both answers are followed, or an
assumption that the report names.
"""

from __future__ import annotations

import ast
import posixpath
import sys
from collections.abc import Callable, Mapping
from typing import Any

from compatcheck.audit.reading.core import MISSING, Core
from compatcheck.audit.reading.values import (
    Bound,
    Capability,
    ClassValue,
    External,
    FunctionValue,
    Instance,
    Intrinsic,
    ModuleValue,
    Place,
    Proxy,
    RaisedError,
    Record,
    Scope,
    Sym,
    Unknown,
)

ASSUMED: Mapping[str, Any] = {
    "model_config.is_diffusion": False,
    "model_config.rswa_window": None,
    "model_config.hf_text_config.attn_logit_softcapping": None,
    "model_config.is_encoder_decoder": False,
    "model_config.is_hybrid": False,
    "attention_config.use_fp4_indexer_cache": False,
}
"""Configuration that no field of compatcheck stands for, and what is taken for it."""

INPUTS: Mapping[str, str] = {
    "attention_config.flash_attn_version": "flash_attn_version",
    "attention_config.use_trtllm_attention": "use_trtllm_attention",
    "cache_config.cache_dtype": "kv_cache_dtype",
    "model_config.use_mla": "use_mla",
    "model_config.is_mm_prefix_lm": "use_mm_prefix",
    "model_config.is_deepseek_mla": "use_mla",
    "model_config.hf_text_config.index_topk": "index_topk",
    "model_config.hf_text_config.qk_nope_head_dim": "qk_nope_head_dim",
    "model_config.hf_text_config.qk_rope_head_dim": "qk_rope_head_dim",
    "model_config.hf_text_config.kv_lora_rank": "kv_lora_rank",
    "model_config.hf_text_config.v_head_dim": "v_head_dim",
}
"""Configuration path -> the input that it is."""

SIZES: Mapping[str, str] = {
    "parallel_config.decode_context_parallel_size": "use_dcp",
    "parallel_config.prefill_context_parallel_size": "use_pcp",
}
METHODS: Mapping[str, str] = {
    "model_config.get_head_size": "head_size",
    "model_config.get_num_attention_heads": "num_qo_heads",
    "model_config.get_num_kv_heads": "num_kv_heads",
}
SECTIONS = frozenset(
    {
        "model_config",
        "attention_config",
        "cache_config",
        "parallel_config",
        "model_config.hf_text_config",
        "model_config.hf_config",
    }
)
OPTIONAL = frozenset(path for path in INPUTS if path.startswith("model_config.hf_"))
"""A model's configuration may lack these."""

FUNCTIONS: Mapping[tuple[str, str], str] = {
    ("vllm.utils.flashinfer", "has_flashinfer"): "has_flashinfer",
    ("vllm.utils.flashinfer", "has_nvidia_artifactory"): "cubins_available",
    ("vllm.utils.flashinfer", "has_flashinfer_cubin"): "cubins_available",
    ("vllm.utils.import_utils", "has_tilelang"): "yes",
    ("vllm.utils.import_utils", "has_humming"): "has_humming",
    ("vllm.utils.import_utils", "has_fbgemm_gpu"): "has_fbgemm",
}
"""Functions that ask the host, and the input that their answer is."""

VARIABLES: Mapping[str, str] = {"VLLM_BATCH_INVARIANT": "use_batch_invariant"}
"""Environment variables that are inputs; every other one is taken as not set."""

INSTALLED = frozenset(
    [
        "torch",
        "numpy",
        "triton",
        "transformers",
        "requests",
        "packaging",
        "tokenspeed_mla",
        "pydantic",
        "einops",
        "regex",
        "cutlass",
        "cuda",
        "tvm_ffi",
        "pynvml",
        "tqdm",
        "tabulate",
        "filelock",
    ]
)
"""Packages beside the release that its wheel requires or that are taken as installed."""


class EngineEnvironment:
    """Answers for one engine release beside one FlashInfer, on CUDA."""

    def __init__(self, cuda: str = "13.0") -> None:
        self.cuda = cuda
        self.assumed: set[str] = set()

    def importable(self, module: str) -> bool | None:
        if module in sys.stdlib_module_names or module == "typing_extensions":
            return True
        if module in INSTALLED:
            self.assumed.add(f"{module} is installed")
            return True
        return None

    # -------------------------------------------------------------------------------------------- names

    def name(self, core: Core, module: str, name: str) -> Any:
        key = (module, name)
        if key == ("vllm.platforms", "current_platform"):
            return self._platform(core)
        if name in ("get_current_vllm_config", "get_current_vllm_config_or_none") and module.startswith("vllm.config"):
            return Intrinsic(name, lambda arguments, keywords: Proxy(""))
        if key in FUNCTIONS:
            field = FUNCTIONS[key]
            if field == "yes":
                self.assumed.add(f"{name}() is True")
                return Intrinsic(name, lambda arguments, keywords: True)
            return Intrinsic(name, lambda arguments, keywords: core.machine.input(field))
        if key == ("vllm.platforms.interface", "DeviceCapability"):
            return MISSING
        if module == "vllm.envs" and name.startswith("VLLM_"):
            return self._variable(core, name)
        if name.endswith(".get_device_capability") and module.startswith("vllm.platforms"):
            return Intrinsic(name, lambda arguments, keywords: capability(core))
        return MISSING

    @staticmethod
    def _platform(core: Core) -> Any:
        cls = core.global_name("vllm.platforms.cuda", "CudaPlatformBase")
        if isinstance(cls, ClassValue):
            return Instance(cls, {})
        return Unknown(Place("vllm/platforms/cuda.py", 0, "CudaPlatformBase"), "the CUDA platform")

    def _variable(self, core: Core, name: str) -> Any:
        field = VARIABLES.get(name)
        if field is not None:
            return core.machine.input(field)
        table = core.global_name("vllm.envs", "environment_variables")
        read = table.get(name) if isinstance(table, dict) else None
        if isinstance(read, FunctionValue):
            self.assumed.add(f"{name} is not set")
            return core.call(read, [], {}, read.node, Scope("vllm.envs"))
        if isinstance(table, Unknown):
            return table
        return MISSING

    # --------------------------------------------------------------------------------------- attributes

    def attribute(self, core: Core, value: Any, name: str) -> Any:
        if isinstance(value, Proxy):
            return self._configured(core, f"{value.path}.{name}" if value.path else name)
        if isinstance(value, ModuleValue) and value.name == "vllm.envs" and name.startswith("VLLM_"):
            return self._variable(core, name)
        if isinstance(value, External):
            return self._outside(core, f"{value.name}.{name}")
        return MISSING

    def _configured(self, core: Core, path: str) -> Any:
        path = path.replace(".hf_config.", ".hf_text_config.")
        if path in SECTIONS:
            return Proxy(path)
        if path in OPTIONAL:
            field = INPUTS[path]
            here = core.machine.truth(Sym(field, lambda value: value is not None))
            if not here:
                raise RaisedError("AttributeError", path)
            return core.machine.input(field)
        if path in INPUTS:
            return core.machine.input(INPUTS[path])
        if path in SIZES:
            core.machine.input(SIZES[path])
            return Sym(SIZES[path], lambda asked: 2 if asked else 1)
        if path in METHODS:
            field = METHODS[path]
            return Intrinsic(path, lambda arguments, keywords: core.machine.input(field))
        if path in ASSUMED:
            self.assumed.add(f"{path} is {ASSUMED[path]}")
            if ASSUMED[path] is None and ".hf_" in path:
                raise RaisedError("AttributeError", path)
            return ASSUMED[path]
        return Unknown(Place("", 0, path), "a part of the configuration that compatcheck has no field for")

    def _outside(self, core: Core, name: str) -> Any:
        if name == "torch.version.cuda":
            self.assumed.add(f"torch is built for CUDA {self.cuda}")
            return self.cuda
        if name == "typing.TYPE_CHECKING":
            return False
        made = _INTRINSICS.get(name)
        if made is None:
            return MISSING
        return Intrinsic(name, lambda arguments, keywords: made(core, arguments))


def capability(core: Core) -> Sym:
    """Return the GPU's compute capability, an input."""
    core.machine.input("sm")
    return Sym("sm", lambda sm: Capability(*map(int, sm.split("."))))


def _environ(core: Core, arguments: list[Any]) -> Any:
    return arguments[1] if len(arguments) > 1 else None


def _join(core: Core, arguments: list[Any]) -> Any:
    return posixpath.join(*[core.machine.concrete(a) for a in arguments])


def _dirname(core: Core, arguments: list[Any]) -> Any:
    return posixpath.dirname(core.machine.concrete(arguments[0]))


def _exists(core: Core, arguments: list[Any]) -> Any:
    path = core.machine.concrete(arguments[0])
    if not core.program.holds(path.partition("/")[0]):
        return Unknown(Place("", 0, f"os.path.exists({path!r})"), "whether the host has a file")
    return core.program.exists(path)


def _import_module(core: Core, arguments: list[Any]) -> Any:
    name = core.machine.concrete(arguments[0])
    return core.imported(name, None, _NODE, Scope("importlib"))


def _find_spec(core: Core, arguments: list[Any]) -> Any:
    try:
        return _import_module(core, arguments)
    except RaisedError:
        return None


def _signature(core: Core, arguments: list[Any]) -> Any:
    function = arguments[0]
    function = function.function if isinstance(function, Bound) else function
    if not isinstance(function, FunctionValue):
        return Unknown(Place("", 0, "inspect.signature"), "the parameters of something outside the release")
    spec = function.node.args
    kinds = [(p.arg, "POSITIONAL_OR_KEYWORD") for p in (*spec.posonlyargs, *spec.args)]
    kinds += [(p.arg, "KEYWORD_ONLY") for p in spec.kwonlyargs]
    parameters = {
        name: Record("a parameter", {"name": name, "kind": External(f"inspect.Parameter.{kind}")})
        for name, kind in kinds
    }
    return Record("a signature", {"parameters": parameters})


_NODE = ast.Constant(None)
_INTRINSICS: dict[str, Callable[[Core, list[Any]], Any]] = {
    "os.getenv": _environ,
    "os.environ.get": _environ,
    "os.path.join": _join,
    "os.path.dirname": _dirname,
    "os.path.exists": _exists,
    "importlib.import_module": _import_module,
    "importlib.util.find_spec": _find_spec,
    "inspect.signature": _signature,
}
