"""Which NVFP4 scheme a checkpoint gives to each of its linear layers: W4A4, W4A16, or none of the two.

Sources: vllm/model_executor/layers/quantization/modelopt.py:ModelOptNvFp4Config@0.33.0, compared over the wheels for
what came when; vllm/model_executor/layers/quantization/compressed_tensors/compressed_tensors.py:
CompressedTensorsConfig._get_scheme_from_parts@0.33.0.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from compatcheck.launch.layer_schemes import Schemes, algorithm_of, method_of, modelopt_part, read_schemes
from compatcheck.matrix.versions import parse

W4A4, W4A16 = "nvfp4_w4a4", "nvfp4_w4a16"
_ALGORITHMS = {"NVFP4": W4A4, "W4A16_NVFP4": W4A16}
SINCE = {
    **dict.fromkeys(("FP8", "FP8_PER_CHANNEL_PER_TOKEN", "FP8_PB_WO", "NVFP4", "MXFP8", "MIXED_PRECISION"), None),
    "W4A16_NVFP4": "0.21.0",
}
"""Algorithms that ModelOpt's reader knows -> the first release that does (None: all); it refuses others.

Source: modelopt.py:QUANT_ALGOS, compared over all covered wheels.
"""
NAMED = frozenset({"modelopt", "modelopt-fp4"})
"""Methods whose reader refuses a checkpoint that names no algorithm; that of MXFP8 goes without."""
GROUPS_SINCE = "0.29.0"
"""First release that takes ModelOpt's NVFP4 with no activations in any of its groups for W4A16."""


def schemes_of(quantization: Mapping[str, Any], release: str) -> Schemes | None:
    """Return the NVFP4 schemes of a quantisation, or None where it has none."""
    algorithms, part = dict(_ALGORITHMS), modelopt_part(quantization)
    algorithm = algorithm_of(part) if part is not None else ""
    if part is not None and not knows(algorithm, release) and (algorithm or method_of(quantization) in NAMED):
        return Schemes(refused=algorithm)
    groups = quantization.get("config_groups")
    weights_only = isinstance(groups, Mapping) and groups and all(_no_activations(group) for group in groups.values())
    if algorithm == "NVFP4" and weights_only and parse(release) >= parse(GROUPS_SINCE):
        algorithms["NVFP4"] = W4A16
    return read_schemes(quantization, algorithms.get, _of_group)


def knows(algorithm: str, release: str) -> bool:
    """Return whether a release knows one of ModelOpt's algorithms."""
    since = SINCE.get(algorithm)
    return algorithm in SINCE and (since is None or parse(since) <= parse(release))


def _of_group(group: Mapping[str, Any]) -> str | None:
    if not is_nvfp4(group.get("weights")):
        return None
    return W4A4 if is_nvfp4(group.get("input_activations")) else W4A16


def _no_activations(group: Any) -> bool:
    return isinstance(group, Mapping) and group.get("input_activations") is None


def is_nvfp4(arguments: Any) -> bool:
    """Return whether quantisation arguments are NVFP4: 4-bit floats in symmetric groups of 16 under a tensor scale."""
    return (
        isinstance(arguments, Mapping)
        and arguments.get("num_bits") == 4
        and arguments.get("type") == "float"
        and arguments.get("group_size") == 16
        and arguments.get("strategy", "tensor_group") == "tensor_group"
        and arguments.get("symmetric", True) is True
    )
