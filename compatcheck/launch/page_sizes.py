"""Models whose layers with and without a window have pages of different sizes, in one pool of blocks.

The hybrid KV-cache manager gives all groups of layers pages of one size. Up to 0.23 it could only put more tokens on
the smaller pages, which takes sizes that divide each other; from 0.24 on it pads them. A scale for each token and head
(4 bytes beside each head's data) breaks the 2:1 of head sizes 256 and 512, and so does another mix of dtypes, such as
TurboQuant beside layers with a window that keep 16 bits.

Sources: vllm/v1/core/kv_cache_utils.py:unify_kv_cache_spec_page_size@0.19.1, @0.23.0 and @0.24.0,
vllm/v1/kv_cache_interface.py:AttentionSpec.page_size_bytes@0.23.0,
vllm/v1/attention/backends/triton_attn.py:TritonAttentionImpl._ensure_scale_caches@0.25.1 and @0.26.0.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from compatcheck.launch import findings
from compatcheck.launch.layer_kinds import RECURRENT
from compatcheck.launch.model import Layer
from compatcheck.matrix.versions import parse
from compatcheck.resolve.verdict import Finding, FindingSource

PADS_SINCE = "0.24.0"
STRIDES_READ_SINCE = "0.26.0"
"""First release whose scale views follow the strides of a padded cache; before, they assumed pages without padding."""
_SCALED = ("int8_per_token_head", "fp8_per_token_head")
_BYTES = {"auto": 2.0, "bfloat16": 2.0, "float16": 2.0, "fp8": 1.0, "fp8_e4m3": 1.0, "fp8_e5m2": 1.0, "nvfp4": 0.5625}
_SCALE_BYTES = 4
_SLOTS = {
    "turboquant_k8v4": (8, 4),
    "turboquant_4bit_nc": (4, 4),
    "turboquant_k3v4_nc": (3, 4),
    "turboquant_3bit_nc": (3, 3),
}
"""Bits of a key's and of a value's element."""
_PADDED = FindingSource("vllm/v1/core/kv_cache_utils.py:unify_kv_cache_spec_page_size@0.24.0")


def page_finding(
    name: str | None, layers: Sequence[Layer], common: dict[str, Any], hybrid: bool | None, release: str
) -> Finding | None:
    """Return what it means that these kinds of layers share a pool; None where their pages fit, or are not known.

    `common` holds the facts that all kinds share, `hybrid`: whether the hybrid KV-cache manager is on.
    """
    sizes = _sizes(layers, common)
    if hybrid is not True or sizes is None or max(sizes.values()) % min(sizes.values()) == 0:
        return None
    counted = any(isinstance(facts.get("num_kv_heads"), int) for facts in (common, *(layer.facts for layer in layers)))
    unit = "a token" if counted else "a token and KV head"
    told = ", ".join(f"{size} bytes {unit} in {kind} layers" for kind, size in sizes.items())
    dtype = str(common.get("kv_cache_dtype"))
    if parse(release) < parse(PADS_SINCE):
        return _refused(name, told, dtype, release)
    if dtype in _SLOTS:
        return _mixed(told, dtype, release)
    if dtype not in _SCALED:
        return None
    if parse(release) < parse(STRIDES_READ_SINCE):
        return _misplaced(name, told, dtype, release)
    return _reported(told, dtype, release) if dtype == "int8_per_token_head" else None


def _sizes(layers: Sequence[Layer], common: dict[str, Any]) -> dict[str, int] | None:
    """Return the bytes of a token, keys and values, in each kind of layers; None where a size is not known.

    Only kinds with and without a window meet in one pool: layers of one kind only, and those of MLA, are planned
    otherwise, and recurrent layers pad their own pages.
    """
    if common.get("use_mla") or any(layer.kind in RECURRENT for layer in layers):
        return None
    cached = {layer.kind: {**common, **layer.facts} for layer in layers if layer.kind in _POOLED}
    windows = {bool(facts.get("sliding_window")) for facts in cached.values()}
    if len(windows) < 2:
        return None
    stated = [isinstance(facts.get("num_kv_heads"), int) for facts in cached.values()]
    if any(stated) and not all(stated):
        return None
    found: dict[str, int] = {}
    for kind, facts in cached.items():
        head = facts.get("head_size")
        own = facts["num_kv_heads"] if all(stated) else 1  # the same in each kind, whatever it is
        dtype = str(facts.get("kv_cache_dtype") or "auto")
        if not isinstance(head, int):
            return None
        if dtype in _SLOTS:
            each = _slot(dtype, head) / 2
        elif dtype in _SCALED:
            each = float(head + _SCALE_BYTES)
        elif dtype in _BYTES:
            each = head * _BYTES[dtype]
        else:
            return None
        found[kind] = round(2 * own * each)
    return found


def _slot(dtype: str, head: int) -> int:
    """Return the bytes of a key and a value together, rounded up to an even number.

    Source: vllm/model_executor/layers/quantization/turboquant/config.py:TurboQuantConfig.slot_size_aligned@0.20.0.
    """
    key, value = _SLOTS[dtype]
    norm = 0 if key == 8 else 2
    size = -(-head * key // 8) + norm + -(-head * value // 8) + _SCALE_BYTES
    return size + size % 2


_POOLED = frozenset({"full_attention", "sliding_attention"})


def _refused(name: str | None, told: str, dtype: str, release: str) -> Finding:
    return findings.make(
        "launch-pages-do-not-divide",
        "The pages of the model's layers do not divide each other",
        f"{name} has pages of {told}; vLLM {release} gives all layers pages of one size, for which the smaller has to "
        "divide the larger.",
        effect="unsupported",
        bites="init",
        why="TurboQuant packs a key and a value into a slot that no 16-bit page is a multiple of."
        if dtype in _SLOTS
        else "A scale for each token and head adds 4 bytes to each head: 256 and 512 become 260 and 516.",
        fix=f"Use vLLM {STRIDES_READ_SINCE} or newer, or --kv-cache-dtype fp8; --disable-hybrid-kv-cache-manager plans "
        "all layers as one kind, which takes more memory.",
        required=f"vLLM >= {PADS_SINCE}, or pages that divide",
        actual=told,
        words="The page size of the layer is not divisible by the maximum page size. Cannot unify by adjusting "
        "block_size.",
        exception="NotImplementedError",
        confirmed="reported",
        source=FindingSource("vllm/v1/core/kv_cache_utils.py:unify_kv_cache_spec_page_size@0.23.0"),
        more=(_PADDED, FindingSource("https://github.com/vllm-project/vllm/issues/40388", kind="thread")),
    )


def _misplaced(name: str | None, told: str, dtype: str, release: str) -> Finding:
    return findings.make(
        "launch-padded-pages-scales",
        "Scales of a padded KV cache are written to the wrong blocks",
        f"{name} has pages of {told}: vLLM {release} pads the smaller ones, and its Triton backend looks for the "
        f"scales of {dtype} as if nothing were padded. Answers are corrupted once more than a few blocks are in use.",
        effect="degraded",
        bites="silent",
        refuser="advisory",
        why="_ensure_scale_caches took its strides from the shape of the cache; 0.26.0 reads the cache's own.",
        fix=f"Use vLLM {STRIDES_READ_SINCE} or newer, or --kv-cache-dtype fp8.",
        actual=f"engine_version={release}, kv_cache_dtype={dtype}",
        confirmed="reported",
        source=FindingSource(
            "vllm/v1/attention/backends/triton_attn.py:TritonAttentionImpl._ensure_scale_caches@0.25.1"
        ),
        more=(
            _PADDED,
            FindingSource("vllm/v1/attention/backends/triton_attn.py:TritonAttentionImpl._ensure_scale_caches@0.26.0"),
            FindingSource("https://github.com/vllm-project/vllm/issues/49716", kind="thread"),
        ),
    )


def _mixed(told: str, dtype: str, release: str) -> Finding:
    """Return the advisory for TurboQuant beside windows: a proposal says that it fails, and nobody has run it."""
    return findings.make(
        "launch-turboquant-windows",
        "TurboQuant beside layers with a window is reported not to work",
        f"Pages of {told} share one pool. vLLM {release} sizes them by the backend of the first layer, which does not "
        f"know the slots of {dtype}; an open pull request says that such a mix does not work.",
        effect="degraded",
        bites="init",
        refuser="advisory",
        fix="Use --kv-cache-dtype fp8.",
        actual=f"engine_version={release}, kv_cache_dtype={dtype}",
        confirmed="reported",
        recheck="vLLM merges 54599",
        source=FindingSource("vllm/platforms/interface.py:Platform._align_heterogeneous_kv_block_size@0.33.0"),
        more=(_PADDED, FindingSource("https://github.com/vllm-project/vllm/pull/54599", kind="thread")),
    )


def _reported(told: str, dtype: str, release: str) -> Finding:
    """Return the advisory for what is reported of 0.26.0 and still open; the cause is not known."""
    seen = release == STRIDES_READ_SINCE
    return findings.make(
        "launch-padded-pages-open",
        "Corrupted answers are reported for int8_per_token_head over padded pages",
        f"Pages of {told} are padded. For such a model (Gemma 4 31B) wrong tokens with {dtype} are reported on vLLM "
        "0.26.0: at the start of an answer, and where the cache is full and prefix caching is on."
        + ("" if seen else f" Nobody has said yet whether vLLM {release} still does it."),
        effect="degraded" if seen else "note",
        bites="silent",
        refuser="advisory",
        fix="Compare answers with those of --kv-cache-dtype auto, or use fp8.",
        confirmed="reported",
        recheck="the two threads are closed",
        source=FindingSource("https://github.com/vllm-project/vllm/issues/50749", kind="thread"),
        more=(FindingSource("https://github.com/vllm-project/vllm/issues/50702", kind="thread"),),
    )
