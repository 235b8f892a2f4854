"""How a checkpoint quantises each of its layers, in the words of whoever asks: its groups, algorithms and exceptions.

Sources: vllm/model_executor/layers/quantization/compressed_tensors/utils.py:find_matched_target@0.33.0 (a layer's name
before its class, the first target first) and vllm/model_executor/layers/quantization/modelopt.py:
ModelOptMixedPrecisionConfig@0.33.0.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from compatcheck.launch.layer_names import Expressions, LayerNames, has_wildcard

MAX_LAYERS = 256
_CLASS = "linear"
"""Class of layers that a target may name instead, in small letters."""
PREFIXES = ("model.layers", "model.language_model.layers", "language_model.model.layers")


class Schemes:
    """How a checkpoint quantises its layers."""

    def __init__(
        self,
        *,
        whole: str | None = None,
        named: Mapping[str, str | None] | None = None,
        ignored: tuple[str, ...] = (),
        wildcards: bool = False,
        refused: str | None = None,
        unjudged: tuple[str, ...] = (),
    ) -> None:
        """`named`: what the checkpoint gives to the layers of each target, in its order; None where none is asked for.

        `whole` is the scheme of every layer that no target names. `wildcards`: ignored names are ModelOpt's.
        `refused` is an algorithm that the release does not know; `unjudged` what names layers in no way known here.
        """
        self.whole = whole
        self.refused = refused
        named = named or {}
        expressions = Expressions((*named, *ignored))
        self.unjudged = (*unjudged, *expressions.unjudged)
        """Names of layers that are not judged here: any layer may be one of theirs."""
        self._exact = {target: (place, scheme) for place, (target, scheme) in enumerate(named.items())}
        self._fitting = [
            (place, LayerNames((target,), expressions, wildcards=False), scheme)
            for target, (place, scheme) in self._exact.items()
            if target.startswith("re:")
        ]
        self._ignored = LayerNames(ignored, expressions, wildcards=wildcards)
        self._found: dict[tuple[tuple[str, ...], int], list[str]] = {}

    def at(self, parts: tuple[str, ...], count: int, fused: str | None = None) -> list[str]:
        """Return the schemes that layers of these parts have somewhere in a model of `count` layers.

        `fused` is the name of the engine's layer that holds the parts; it counts before them where it is named.
        """
        if (parts, count) not in self._found:
            every = [
                scheme for index in range(min(count, MAX_LAYERS)) for scheme in self._at_index(parts, index, fused)
            ]
            self._found[parts, count] = list(dict.fromkeys(scheme for scheme in every if scheme is not None))
        return self._found[parts, count]

    def _at_index(self, parts: tuple[str, ...], index: int, fused: str | None) -> list[str | None]:
        if fused is not None:
            names = _names(index, fused)
            if any(self._ignored.have(name) for name in names):
                return []
            named, scheme = self._named(names)
            if named:
                return [scheme]
        return [self._of(_names(index, part)) for part in parts]

    def _of(self, names: list[str]) -> str | None:
        """Return the scheme of the layer that has one of these names; None where it has none of those asked for."""
        if any(self._ignored.have(name) for name in names):
            return None
        named, scheme = self._named(names)
        return scheme if named else self.whole

    def _named(self, names: list[str]) -> tuple[bool, str | None]:
        """Return whether a target names the layer with one of these names, and what it gives it."""
        found = [self._exact[name] for name in names if name in self._exact]
        for place, fitting, scheme in self._fitting:
            if found and place > found[0][0]:
                break
            if any(fitting.have(name) for name in names):
                return True, scheme
        return (True, found[0][1]) if found else (False, None)


def _names(index: int, part: str) -> list[str]:
    return [f"{prefix}.{index}.{part}" for prefix in PREFIXES]


def read_schemes(
    quantization: Mapping[str, Any],
    of_algorithm: Callable[[str], str | None],
    of_group: Callable[[Mapping[str, Any]], str | None],
) -> Schemes | None:
    """Return what ModelOpt's algorithms or compressed-tensors' groups give to the layers; None where that is nothing.

    `of_algorithm` and `of_group` say what is asked for, and None for all else.
    """
    inner = modelopt_part(quantization)
    if inner is not None:
        return _modelopt(quantization, inner, of_algorithm)
    if method_of(quantization) != "compressed-tensors":
        return None
    groups = quantization.get("config_groups", {})
    named: dict[str, str | None] = {}
    for group in groups.values() if isinstance(groups, Mapping) else (None,):
        if not isinstance(group, Mapping) or not _is_group(group):
            return Schemes(unjudged=("config_groups",))
        named |= dict.fromkeys(texts(group["targets"]), of_group(group))
    if not any(named.values()):
        return None
    whole = next((scheme for target, scheme in named.items() if target.lower() == _CLASS), None)
    return Schemes(whole=whole, named=named, ignored=texts(quantization.get("ignore")))


def _is_group(group: Mapping[str, Any]) -> bool:
    """Return whether a group names layers, and their weights as the engine can read them."""
    return isinstance(group.get("targets"), list) and all(
        isinstance(group.get(name), (Mapping, type(None))) for name in ("weights", "input_activations")
    )


def method_of(quantization: Mapping[str, Any]) -> str:
    """Return the method that a quantisation names, with dashes."""
    return str(quantization.get("quant_method") or "").replace("_", "-")


def modelopt_part(quantization: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return the part of ModelOpt's quantisation that names the algorithm; None where it is not ModelOpt's."""
    method, inner = method_of(quantization), quantization.get("quantization")
    if isinstance(inner, Mapping) and (not method or method.startswith("modelopt")):
        return inner
    return quantization if method.startswith("modelopt") else None


def algorithm_of(part: Mapping[str, Any]) -> str:
    """Return the name of ModelOpt's algorithm, in capitals."""
    return str(part.get("quant_algo") or "").upper()


def _modelopt(
    outer: Mapping[str, Any], inner: Mapping[str, Any], of_algorithm: Callable[[str], str | None]
) -> Schemes | None:
    ignored = texts(inner.get("exclude_modules")) or texts(outer.get("ignore"))
    if algorithm_of(inner) != "MIXED_PRECISION":
        whole = of_algorithm(algorithm_of(inner))
        return Schemes(whole=whole, ignored=ignored, wildcards=True) if whole is not None else None
    layers = inner.get("quantized_layers")
    if not isinstance(layers, Mapping) or not all(isinstance(entry, Mapping) for entry in layers.values()):
        return Schemes(unjudged=("quantized_layers",))
    named = {str(name): of_algorithm(algorithm_of(entry)) for name, entry in layers.items()}
    wild = tuple(name for name, scheme in named.items() if scheme is not None and has_wildcard(name))
    return Schemes(named=named, ignored=ignored, wildcards=True, unjudged=wild) if any(named.values()) else None


def texts(value: Any) -> tuple[str, ...]:
    """Return the texts of a list; none where it is no list."""
    return tuple(item for item in value if isinstance(item, str)) if isinstance(value, list) else ()
