"""TurboQuant and UltraQuant caches: the first and the last layers of a model keep the model's own dtype.

Source: vllm/engine/arg_utils.py:EngineArgs.create_engine_config@0.20.0 and @0.33.0,
vllm/model_executor/layers/quantization/turboquant/config.py:TurboQuantConfig.get_boundary_skip_layers@0.33.0.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from compatcheck.launch import findings
from compatcheck.launch.layer_kinds import NO_CACHE
from compatcheck.launch.model import Layer
from compatcheck.matrix.versions import parse
from compatcheck.resolve.verdict import Finding, FindingSource

BOUNDARY = "boundary_attention"
HYBRIDS_SINCE = "0.21.0"
"""First release that takes hybrid models, without boundary layers; before, they were refused."""
NAMES_SINCE = "0.32.0"
"""First release whose skipped layers may be named by kind beside a TurboQuant cache."""
_EACH_SIDE = 2
_FORCED = ("TURBOQUANT", "ULTRAQUANT")


def is_packed(dtype: object) -> bool:
    """Return whether a KV-cache dtype is one whose boundary layers are left out."""
    return isinstance(dtype, str) and (dtype.startswith("turboquant_") or dtype == "ultraquant_4bit")


def with_boundary(layers: Sequence[Layer], *, known: bool) -> tuple[Layer, ...]:
    """Return the kinds of layers with those that keep `auto`; the same where the model is hybrid, MLA or not known."""
    if not known or not layers or any(layer.kind in NO_CACHE or layer.kind == "mla" for layer in layers):
        return tuple(layers)
    first, *others = layers
    total = sum(layer.count or 0 for layer in layers)
    count = 2 * min(_EACH_SIDE, total // 2) or None
    rest = first.count - count if not others and first.count and count else first.count
    own: dict[str, Any] = {**first.facts, "kv_cache_dtype": "auto"}
    kept = [] if rest == 0 else [msgspec.structs.replace(first, count=rest)]
    return (*kept, *others, Layer(kind=BOUNDARY, count=count, facts=own))


def open_layers(backend: object, *, known: bool) -> str | None:
    """Return what is missing where such a backend is forced for a model whose layers are not known."""
    forced = str(backend or "").upper() in _FORCED
    return "whether the model is hybrid (its config.json)" if forced and not known else None


def hybrid_finding(name: str | None, dtype: str, layers: Sequence[Layer], release: str) -> Finding | None:
    """Return the finding for a hybrid model in a release that refuses it; None where all is well."""
    hybrid = any(layer.kind in NO_CACHE for layer in layers)
    if not hybrid or not dtype.startswith("turboquant_") or parse(release) >= parse(HYBRIDS_SINCE):
        return None
    return findings.make(
        "launch-turboquant-hybrid",
        "The release refuses a TurboQuant cache for hybrid models",
        f"{name} has layers without a key-value cache; vLLM {release} refuses --kv-cache-dtype {dtype} for it.",
        effect="unsupported",
        fix=f"Use vLLM {HYBRIDS_SINCE} or newer, or --kv-cache-dtype fp8.",
        required=f"vLLM >= {HYBRIDS_SINCE}, or a model of attention layers only",
        words="TurboQuant KV cache is not supported for hybrid (attention + Mamba) models. Boundary layer protection "
        "requires uniform attention layers.",
        exception="NotImplementedError",
        source=FindingSource("vllm/engine/arg_utils.py:EngineArgs.create_engine_config@0.20.0"),
    )


def names_finding(dtype: str, skipped: Sequence[str], release: str) -> Finding | None:
    """Return the finding for a skipped layer that is no number, in a release that sorts them as numbers."""
    named = next((word for word in skipped if not word.strip().isdigit()), None)
    if named is None or not dtype.startswith("turboquant_") or parse(release) >= parse(NAMES_SINCE):
        return None
    return findings.make(
        "launch-turboquant-skip-names",
        "Beside a TurboQuant cache the release takes skipped layers by number only",
        f"vLLM {release} sorts the layers of --kv-cache-dtype-skip-layers as numbers together with those that {dtype} "
        f"leaves out by itself, and fails at {named!r}.",
        effect="unsupported",
        fix=f"Use vLLM {NAMES_SINCE} or newer, give the numbers of the layers, or use --kv-cache-dtype fp8.",
        required=f"vLLM >= {NAMES_SINCE}, or numbers",
        actual=named,
        words=f"invalid literal for int() with base 10: {named!r}",
        exception="ValueError",
        source=FindingSource("vllm/engine/arg_utils.py:EngineArgs.create_engine_config@0.20.0"),
        more=(
            FindingSource("vllm/engine/arg_utils.py:EngineArgs.create_engine_config@0.31.0"),
            FindingSource("https://github.com/vllm-project/vllm/pull/54599", kind="thread"),
        ),
    )
