"""Ask an engine's own selector, as if this machine had a CUDA GPU.

Run as a file by the interpreter of an environment with the engine's requirements; imports nothing of compatcheck.
Standard input is a JSON object: `paths` (folders to import from), `compiled` (modules that exist only as machine code),
`sm`, `cuda`, and `cells`, each a backend, the selector's arguments and the model behind them. Standard output gets one
JSON line a cell: the reasons for which the selector refuses. What a module prints goes to standard error.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import inspect
import json
import os
import re
import sys
import types
from types import SimpleNamespace
from typing import Any

ABSENT = ("torchvision", "cv2")
"""Packages that are imported on the way and play no part in attention."""


class _HollowType(type):
    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return _HollowType(name, (), {})


class _Hollow(types.ModuleType):
    """A module that has every name."""

    __path__: list[str] = []  # noqa: RUF012 - what the import system asks of a package

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        made = _HollowType(name, (), {"__init__": lambda self, *a, **k: None})
        setattr(self, name, made)
        return made


class _StandIns(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Gives an empty module for machine code, a hollow one for packages that do not matter."""

    def __init__(self, empty: set[str], hollow: tuple[str, ...]) -> None:
        self.empty = empty
        self.hollow = hollow

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        if name in self.empty:
            return importlib.machinery.ModuleSpec(name, self)
        if name.partition(".")[0] in self.hollow:
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
        return None

    def create_module(self, spec: Any) -> Any:
        if spec.name in self.empty:
            return types.ModuleType(spec.name)
        made = _Hollow(spec.name)
        made.__version__ = "0.0"  # type: ignore[attr-defined]
        return made

    def exec_module(self, module: Any) -> None:
        return


def pretend(major: int, minor: int, cuda: str) -> None:
    """Make torch say that there is one CUDA GPU; tensors that are asked for on it become meta tensors."""
    import torch

    for name in ("empty", "zeros", "ones", "full", "arange", "tensor"):
        setattr(torch, name, _off_device(getattr(torch, name)))
    torch.version.cuda = cuda
    properties = SimpleNamespace(
        major=major,
        minor=minor,
        name="GPU",
        multi_processor_count=132,
        total_memory=96 << 30,
        L2_cache_size=50 << 20,
        warp_size=32,
        max_threads_per_multi_processor=2048,
        shared_memory_per_block_optin=232_448,
        is_integrated=False,
        gcnArchName="",
    )
    answers: dict[str, Any] = {
        "is_available": True,
        "device_count": 1,
        "current_device": 0,
        "get_device_capability": (major, minor),
        "get_device_properties": properties,
        "get_device_name": "GPU",
    }
    for name, value in answers.items():
        setattr(torch.cuda, name, lambda *a, _value=value, **k: _value)


def _off_device(make: Any) -> Any:
    def made(*arguments: Any, **options: Any) -> Any:
        if str(options.get("device", "")).startswith("cuda"):
            options["device"] = "meta"
            options.pop("pin_memory", None)
        return make(*arguments, **options)

    return made


def machine_code(folder: str) -> None:
    """Give an answer, no, to functions of compiled modules that say for which GPUs they were built."""
    import torch

    try:
        with open(os.path.join(folder, "vllm", "_custom_ops.py"), encoding="utf-8") as stream:
            names = set(re.findall(r"torch\.ops\._C\.(\w+)\(cuda_device_capability\)", stream.read()))
    except OSError:
        return
    library = torch.library.Library("_C", "FRAGMENT")
    _KEPT.append(library)
    for name in names:
        library.define(f"{name}(int capability) -> bool")
        library.impl(name, lambda capability: False, "CompositeExplicitAutograd")


_KEPT: list[Any] = []
"""A library's definitions go with it."""


def platform(major: int, minor: int) -> None:
    """Put a CUDA platform with this compute capability where the engine looks for one."""
    import vllm.platforms
    from vllm.platforms.cuda import NvmlCudaPlatform
    from vllm.platforms.interface import DeviceCapability, Platform

    class Pretended(NvmlCudaPlatform):  # type: ignore[misc]
        has_device_capability: Any = classmethod(Platform.has_device_capability.__func__)

        @classmethod
        def get_device_capability(cls, device_id: int = 0) -> Any:
            return DeviceCapability(major, minor)

        @classmethod
        def get_device_name(cls, device_id: int = 0) -> str:
            return "GPU"

        @classmethod
        def get_device_total_memory(cls, device_id: int = 0) -> int:
            return 96 << 30

        @classmethod
        def device_count(cls) -> int:
            return 1

        @classmethod
        def num_compute_units(cls, device_id: int = 0) -> int:
            return 132

    vllm.platforms._current_platform = Pretended()


def model(facts: dict[str, Any]) -> Any:
    """Return what stands for a model's configuration."""
    names = ("kv_lora_rank", "qk_nope_head_dim", "qk_rope_head_dim", "v_head_dim", "index_topk", "compress_ratios")
    text = SimpleNamespace(model_type="any", **{name: facts[name] for name in names if facts.get(name) is not None})
    if facts.get("index_topk") == 512:
        text.head_dim = 512
    return SimpleNamespace(
        hf_config=text,
        hf_text_config=text,
        is_mm_prefix_lm=bool(facts.get("use_mm_prefix")),
        rswa_window=None,
        is_diffusion=False,
        use_mla=facts["use_mla"],
        is_deepseek_mla=facts["use_mla"],
        is_hybrid=False,
        is_attention_free=False,
        is_encoder_decoder=False,
        max_model_len=8192,
        attention_chunk_size=None,
        get_sliding_window=lambda: None,
        get_head_size=lambda: facts["head_size"],
        get_num_attention_heads=lambda parallel: facts["num_qo_heads"],
        get_num_kv_heads=lambda parallel: facts["num_kv_heads"],
    )


def ask(config: Any, backends: dict[str, Any], capability: Any, cell: dict[str, Any]) -> dict[str, Any]:
    """Return the selector's reasons for one cell."""
    import torch

    backend = backends.get(cell["backend"])
    if isinstance(backend, str) or backend is None:
        return {"reasons": [f"import: {backend}"]}
    facts = cell["facts"]
    if not hasattr(config, "model_config"):
        return {"error": "the engine's configuration has no model_config"}
    described = model(facts)
    described.dtype = getattr(torch, facts["dtype"])
    object.__setattr__(config, "model_config", described)
    object.__setattr__(config.cache_config, "cache_dtype", facts["kv_cache_dtype"])
    given = {**cell["arguments"], "dtype": described.dtype, "device_capability": capability}
    taken = inspect.signature(backend.validate_configuration).parameters
    try:
        return {
            "reasons": list(backend.validate_configuration(**{name: v for name, v in given.items() if name in taken}))
        }
    except Exception as error:  # the engine's own failure is its answer
        return {"error": f"{type(error).__name__}: {error}"}


def main() -> int:
    """Run."""
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    request = json.load(sys.stdin)
    for name, value in (
        ("VLLM_LOGGING_LEVEL", "ERROR"),
        ("VLLM_NO_USAGE_STATS", "1"),
        ("HF_HUB_OFFLINE", "1"),
        ("VLLM_PLUGINS", ""),
    ):
        os.environ[name] = value
    os.environ["VLLM_HAS_FLASHINFER_CUBIN"] = "1"
    os.environ["FLASHINFER_DISABLE_VERSION_CHECK"] = "1"
    sys.path[:0] = request["paths"]
    major, minor = map(int, request["sm"].split("."))
    sys.meta_path.insert(0, _StandIns(set(request["compiled"]), ()))
    pretend(major, minor, request["cuda"])
    machine_code(request["paths"][0])

    platform(major, minor)
    from vllm.config import VllmConfig, set_current_vllm_config
    from vllm.platforms.interface import DeviceCapability
    from vllm.v1.attention.backends.registry import AttentionBackendEnum

    sys.meta_path.append(_StandIns(set(), ABSENT))
    config = VllmConfig()
    backends: dict[str, Any] = {}
    with set_current_vllm_config(config):
        for name in {cell["backend"] for cell in request["cells"]}:
            try:
                backends[name] = AttentionBackendEnum[name].get_class()
            except Exception as error:  # what the engine's registry says of a backend that cannot be had
                backends[name] = f"{type(error).__name__}: {error}"
        out.write(json.dumps({"backends": [member.name for member in AttentionBackendEnum]}) + "\n")
        for cell in request["cells"]:
            out.write(json.dumps(ask(config, backends, DeviceCapability(major, minor), cell)) + "\n")
    out.flush()
    return 0


if __name__ == "__main__":
    code = main()
    sys.stderr.flush()
    os._exit(code)  # threads that the engine's modules started do not matter any more
