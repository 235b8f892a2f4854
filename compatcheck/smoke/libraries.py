"""What the worker's interpreter really has: versions and the GPU, as the libraries themselves say. Imports them."""

from __future__ import annotations

import importlib
import importlib.metadata
from typing import Any

_DISTRIBUTIONS = (
    "torch",
    "flashinfer-python",
    "flashinfer-cubin",
    "flashinfer-jit-cache",
    "apache-tvm-ffi",
    "nvidia-cudnn-frontend",
    "nvidia-cutlass-dsl",
    "triton",
    "numpy",
)


def describe(device: str) -> dict[str, Any]:
    """Return versions by distribution, `torch_cuda`, `cudnn`, and for a GPU its `gpu` name and `sm`.

    What cannot be imported is left out; its error stands under `torch_error`.
    """
    facts: dict[str, Any] = {}
    for name in _DISTRIBUTIONS:
        try:
            facts[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    try:
        torch = importlib.import_module("torch")
    except Exception as error:
        return {**facts, "torch_error": f"{type(error).__name__}: {error}"}
    facts["torch"] = str(torch.__version__)
    facts["torch_cuda"] = torch.version.cuda
    if device.startswith("cuda") and torch.cuda.is_available():
        major, minor = torch.cuda.get_device_capability(0)
        facts.update(gpu=torch.cuda.get_device_name(0), sm=f"{major}.{minor}", cudnn=torch.backends.cudnn.version())
    return facts
