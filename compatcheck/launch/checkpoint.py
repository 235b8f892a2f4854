"""What a quantised checkpoint does to the KV cache: what `--kv-cache-dtype auto` becomes because of it.

Source: vllm/utils/torch_utils.py:get_kv_cache_quant_algo_string and
vllm/model_executor/layers/attention/attention.py:Attention.__init__, compared over the wheels 0.18.1 to 0.33.0.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from compatcheck.launch import findings
from compatcheck.matrix.versions import parse
from compatcheck.resolve.verdict import Finding, FindingSource

NVFP4_SINCE = "0.20.0"
"""First release whose table maps a checkpoint's NVFP4 algorithm to the nvfp4 cache; before, it stayed auto."""
SCHEME_OVERRIDES_UNTIL = "0.22.0"
"""Before this release a compressed-tensors scheme replaced even an explicit --kv-cache-dtype by fp8."""


SCHEME_BOTH_SINCE = "0.24.0"
"""First release that asks a compressed-tensors scheme for 8 bits and floating point; before, one was enough."""


def cache_dtype_of_checkpoint(quantization: Mapping[str, Any], release: str) -> str | None:
    """Return the cache dtype that `auto` becomes, or None where the checkpoint has no say."""
    method = str(quantization.get("quant_method") or "")
    if method.startswith("modelopt") or _old_modelopt(quantization):
        inner = quantization.get("quantization")
        inner = inner if isinstance(inner, Mapping) else quantization
        algorithm = (
            inner.get("kv_cache_scheme")
            or quantization.get("kv_cache_scheme")
            or inner.get("kv_cache_quant_algo")
            or quantization.get("kv_cache_quant_algo")
        )
        if isinstance(algorithm, Mapping):
            algorithm = _scheme(algorithm)
        return _of_algorithm(algorithm, release)
    if method == "compressed-tensors" and isinstance(quantization.get("kv_cache_scheme"), Mapping):
        return "fp8"
    return None


def _old_modelopt(quantization: Mapping[str, Any]) -> bool:
    """Return whether this is the hf_quant_config.json of ModelOpt up to 0.29, which names its producer instead.

    Source: vllm/transformers_utils/model_arch_config_convertor.py:_normalize_quantization_config@0.33.0.
    """
    producer = quantization.get("producer")
    return isinstance(producer, Mapping) and producer.get("name") == "modelopt" and "quantization" in quantization


def scheme_overrides(quantization: Mapping[str, Any], release: str) -> bool:
    """Return whether this checkpoint's scheme wins over an explicit --kv-cache-dtype in this release."""
    scheme = quantization.get("kv_cache_scheme")
    return (
        quantization.get("quant_method") == "compressed-tensors"
        and isinstance(scheme, Mapping)
        and parse(release) < parse(SCHEME_OVERRIDES_UNTIL)
    )


def quantization_of(*configs: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return a checkpoint's quantisation; older compressed-tensors checkpoints keep it in `compression_config`.

    Source: vllm/transformers_utils/model_arch_config_convertor.py:_normalize_quantization_config@0.33.0.
    """
    for key in ("quantization_config", "compression_config"):
        for config in configs:
            if isinstance(config.get(key), Mapping) and config[key]:
                found: Mapping[str, Any] = config[key]
                return found
    return None


def refused_scheme(quantization: Mapping[str, Any], release: str) -> Finding | None:
    """Return the finding for a compressed-tensors KV-cache scheme that the release does not load.

    Up to 0.23 one of the two, 8 bits or floating point, was enough.
    """
    scheme = quantization.get("kv_cache_scheme")
    if quantization.get("quant_method") != "compressed-tensors" or not isinstance(scheme, Mapping):
        return None
    bits, kind = scheme.get("num_bits"), scheme.get("type")
    wrong = (kind != "float", bits != 8)
    if all(wrong) if parse(release) < parse(SCHEME_BOTH_SINCE) else any(wrong):
        required, actual = "num_bits=8, type=float", f"num_bits={bits}, type={kind}"
        words = f"Currently supported kv cache quantization is num_bits=8, type=float, however received {actual}"
    elif "strategy" in scheme and scheme.get("strategy") not in ("tensor", "attn_head"):
        required, actual = "strategy tensor or attn_head", f"strategy={scheme.get('strategy')}"
        words = None
    elif not scheme.get("symmetric", True):
        required, actual = "a symmetric scale", f"symmetric={scheme.get('symmetric')}"
        words = (
            "Only support symmetric scaling factor for compressed-tensors KV cache. However found symmetric: "
            f"{scheme.get('symmetric')}"
        )
    else:
        return None
    return findings.make(
        "launch-kv-cache-scheme",
        "The release does not load the checkpoint's KV-cache scheme",
        f"The checkpoint declares a compressed-tensors KV-cache scheme with {actual}; vLLM {release} loads {required}.",
        effect="unsupported",
        bites="init",
        required=required,
        actual=actual,
        fix="Use a checkpoint with an FP8 KV-cache scheme, or one without a scheme.",
        words=words,
        exception="NotImplementedError",
        source=FindingSource(
            "vllm/model_executor/layers/quantization/compressed_tensors/compressed_tensors.py:"
            "CompressedTensorsKVCacheMethod.validate_kv_cache_scheme@0.33.0"
        ),
    )


def weight_quantization(quantization: Mapping[str, Any]) -> str | None:
    """Return the engine's name for how the weights are quantised: ModelOpt's NVFP4 is 'modelopt_fp4'."""
    method = quantization.get("quant_method")
    inner = quantization.get("quantization")
    source = inner if isinstance(inner, Mapping) else quantization
    algorithm = str(source.get("quant_algo") or "").upper()
    if (isinstance(method, str) and method.startswith("modelopt")) or (method is None and algorithm):
        if "NVFP4" in algorithm:
            return "modelopt_fp4"
        if "MXFP8" in algorithm:
            return "modelopt_mxfp8"
        return "modelopt"
    return method if isinstance(method, str) and method else None


def per_head_scales(quantization: Mapping[str, Any]) -> bool:
    """Return whether the checkpoint has one KV scale for each head."""
    scheme = quantization.get("kv_cache_scheme")
    return isinstance(scheme, Mapping) and scheme.get("strategy") == "attn_head"


def _scheme(scheme: Mapping[str, Any]) -> str | None:
    if scheme.get("dynamic") is False and scheme.get("num_bits") == 8 and scheme.get("type") == "float":
        return "fp8"
    if scheme.get("num_bits") == 4 and scheme.get("type") == "float":
        return "nvfp4"  # `_of_algorithm` knows since when
    return None


def _of_algorithm(algorithm: Any, release: str) -> str | None:
    name = str(algorithm).lower() if isinstance(algorithm, str) else ""
    if name == "fp8":
        return "fp8_e4m3"
    if name == "nvfp4" and parse(release) >= parse(NVFP4_SINCE):
        return "nvfp4"
    return None
