"""Which NVFP4 scheme a checkpoint gives to each of its linear layers: W4A4, W4A16, or none of the two.

Sources: vllm/model_executor/layers/quantization/modelopt.py:ModelOptNvFp4Config, ModelOptMixedPrecisionConfig and
ModelOptQuantConfigBase.is_layer_excluded@0.33.0, compared over the wheels for what came when;
vllm/model_executor/layers/quantization/compressed_tensors/compressed_tensors.py:
CompressedTensorsConfig._get_scheme_from_parts@0.33.0.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from fnmatch import fnmatch
from typing import Any

import msgspec

from compatcheck.launch.linear_shapes import Shape
from compatcheck.matrix.versions import parse

W4A4, W4A16 = "nvfp4_w4a4", "nvfp4_w4a16"
A16_SINCE = "0.21.0"
"""First release whose ModelOpt reader knows W4A16_NVFP4; before, it refuses the checkpoint."""
GROUPS_SINCE = "0.29.0"
"""First release that takes ModelOpt's NVFP4 with no activations in any of its groups for W4A16."""
MAX_LAYERS = 256
PREFIXES = ("model.layers", "model.language_model.layers", "language_model.model.layers")


class Schemes(msgspec.Struct, frozen=True, kw_only=True):
    """How a checkpoint quantises its layers; `refused` is an algorithm that the release does not know."""

    whole: str | None = None
    """The scheme of every layer that nothing else names."""
    named: dict[str, str] = {}
    patterns: tuple[tuple[str, str], ...] = ()
    """(pattern, scheme) of layers that a regular expression or a wildcard names."""
    ignored: tuple[str, ...] = ()
    wildcards: bool = False
    """Whether names are ModelOpt's, with wildcards that also fit as a part of the name."""
    refused: str | None = None

    def ignores(self, name: str) -> bool:
        """Return whether the layer with this name is left unquantised."""
        return any(_fits(name, pattern, wildcards=self.wildcards) for pattern in self.ignored)

    def of(self, name: str) -> str | None:
        """Return the scheme of the layer with this name; None where it is not NVFP4."""
        if name in self.named:
            return self.named[name]
        fitting = (scheme for pattern, scheme in self.patterns if _fits(name, pattern, wildcards=self.wildcards))
        return next(fitting, self.whole)


def schemes_at(shape: Shape, schemes: Schemes, count: int) -> list[str]:
    """Return the schemes that a kind of layer has somewhere in the model."""
    found: dict[str, None] = {}
    for index in range(min(count, MAX_LAYERS)):
        for part in shape.parts:
            names = [f"{prefix}.{index}.{part}" for prefix in PREFIXES]
            if not any(schemes.ignores(name) for name in names):
                found |= dict.fromkeys(scheme for name in names if (scheme := schemes.of(name)) is not None)
    return list(found)


def schemes_of(quantization: Mapping[str, Any], release: str) -> Schemes | None:
    """Return the NVFP4 schemes of a quantisation, or None where it has none."""
    method = str(quantization.get("quant_method") or "").replace("_", "-")
    inner = quantization.get("quantization")
    if method.startswith("modelopt") or (isinstance(inner, Mapping) and not method):
        return _modelopt(quantization, inner if isinstance(inner, Mapping) else quantization, release)
    if method == "compressed-tensors":
        return _compressed(quantization)
    return None


def _modelopt(outer: Mapping[str, Any], inner: Mapping[str, Any], release: str) -> Schemes | None:
    algorithm = str(inner.get("quant_algo") or "").upper()
    ignored = texts(inner.get("exclude_modules")) or texts(outer.get("ignore"))
    if algorithm == "MIXED_PRECISION":
        layers = inner.get("quantized_layers")
        entries = layers.items() if isinstance(layers, Mapping) else ()
        found = [
            (str(name), _algorithm(entry.get("quant_algo"))) for name, entry in entries if isinstance(entry, Mapping)
        ]
        return of_targets(found, ignored, wildcards=True)
    scheme = _algorithm(algorithm)
    if scheme is None:
        return None
    if scheme == W4A16 and parse(release) < parse(A16_SINCE):
        return Schemes(refused=algorithm)
    groups = outer.get("config_groups")
    weights_only = isinstance(groups, Mapping) and groups and all(_no_activations(group) for group in groups.values())
    if weights_only and parse(release) >= parse(GROUPS_SINCE):
        scheme = W4A16
    return Schemes(whole=scheme, ignored=ignored, wildcards=True)


def _no_activations(group: Any) -> bool:
    return isinstance(group, Mapping) and group.get("input_activations") is None


def _algorithm(name: Any) -> str | None:
    return {"NVFP4": W4A4, "W4A16_NVFP4": W4A16}.get(str(name).upper())


def _compressed(quantization: Mapping[str, Any]) -> Schemes | None:
    groups = quantization.get("config_groups")
    found: list[tuple[str, str | None]] = []
    for group in groups.values() if isinstance(groups, Mapping) else ():
        if isinstance(group, Mapping) and is_nvfp4(group.get("weights")):
            scheme = W4A4 if is_nvfp4(group.get("input_activations")) else W4A16
            found += [(target, scheme) for target in texts(group.get("targets"))]
    return of_targets(found, texts(quantization.get("ignore")), wildcards=False)


def of_targets(found: list[tuple[str, str | None]], ignored: tuple[str, ...], *, wildcards: bool) -> Schemes | None:
    """Return the schemes of (target, scheme) pairs, those without a scheme left out; None where none is left."""
    known = [(target, scheme) for target, scheme in found if scheme is not None]
    if not known:
        return None
    marked = [(t, s) for t, s in known if t.startswith("re:") or (wildcards and any(mark in t for mark in "*?["))]
    return Schemes(
        whole=next((scheme for target, scheme in known if target == "Linear"), None),
        named=dict(known),
        patterns=tuple(marked),
        ignored=ignored,
        wildcards=wildcards,
    )


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


def _fits(name: str, pattern: str, *, wildcards: bool) -> bool:
    if pattern.startswith("re:"):
        try:
            return re.match(pattern[3:], name) is not None
        except re.error:
            return False
    if wildcards and any(mark in pattern for mark in "*?["):
        return fnmatch(name, pattern)
    return name == pattern or (wildcards and pattern in name)


def texts(value: Any) -> tuple[str, ...]:
    """Return the texts of a list; none where it is no list."""
    return tuple(item for item in value if isinstance(item, str)) if isinstance(value, list) else ()
