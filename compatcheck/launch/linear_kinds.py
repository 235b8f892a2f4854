"""Which kind of quantisation a checkpoint gives to each of its linear layers, NVFP4 or not.

Sources: vllm/model_executor/layers/quantization/compressed_tensors/compressed_tensors.py:
CompressedTensorsConfig._get_scheme_from_parts@0.25.1, vllm/model_executor/layers/quantization/modelopt.py:QUANT_ALGOS
@0.25.1, fp8.py and auto_gptq.py beside them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from compatcheck.launch.layer_schemes import Schemes, method_of, read_schemes, texts
from compatcheck.launch.linear_scheme import is_nvfp4

NVFP4 = "nvfp4"
_ALGORITHMS = {
    "FP8": "fp8",
    "FP8_PER_CHANNEL_PER_TOKEN": "fp8",
    "FP8_PB_WO": "fp8_block",
    "MXFP8": "mxfp8",
    "NVFP4": NVFP4,
    "W4A16_NVFP4": NVFP4,
}


def kinds_of(quantization: Mapping[str, Any]) -> Schemes | None:
    """Return the kinds of a quantisation by layer, `scheme` being a kind; None where none of them is known."""
    method = method_of(quantization)
    if method == "fp8":
        left = texts(quantization.get("ignored_layers")) or texts(quantization.get("modules_to_not_convert"))
        kind = "fp8_block" if quantization.get("weight_block_size") else "fp8"
        return Schemes(whole=kind, ignored=left, wildcards=True)
    if method == "gptq" and quantization.get("bits") in (4, 8) and quantization.get("sym", True) is True:
        return Schemes(whole="integer")
    return read_schemes(quantization, _ALGORITHMS.get, _of_group)


def _of_group(group: Mapping[str, Any]) -> str | None:
    weights, inputs = group.get("weights"), group.get("input_activations")
    if not isinstance(weights, Mapping):
        return None
    bits, type_ = weights.get("num_bits"), weights.get("type", "int")
    grouped = weights.get("strategy") == "group" and weights.get("group_size") == 32
    if is_nvfp4(weights):
        return NVFP4
    if type_ == "float":
        if grouped and bits == 4:
            return "mxfp4"
        if grouped and bits == 8:
            return "mxfp8"
        if bits != 8:
            return None
        if not isinstance(inputs, Mapping):
            return "fp8_a16"
        return "fp8_block" if weights.get("strategy") == "block" else "fp8"
    if type_ != "int" or bits not in (4, 8):
        return None
    both = isinstance(inputs, Mapping) and inputs.get("num_bits") == 8 and inputs.get("type", "int") == "int"
    return "int8" if both and bits == 8 else "integer"
