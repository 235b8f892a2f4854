"""Which model runner a launch takes, V1 or V2, where that depends on the model.

Sources: vllm/config/vllm.py:VllmConfig.use_v2_model_runner, _is_default_v2_model_runner_model,
_get_v2_model_runner_unsupported_features and DEFAULT_V2_MODEL_RUNNER_ARCHITECTURES, @0.25.0, @0.26.0, @0.27.1, @0.28.0.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from compatcheck.launch import findings
from compatcheck.launch.draft import method_of
from compatcheck.launch.experts import has_experts
from compatcheck.launch.layer_kinds import RECURRENT
from compatcheck.launch.model import Layer
from compatcheck.launch.model_config import text_config
from compatcheck.launch.model_names import words_of
from compatcheck.launch.option_facts import OptionFacts
from compatcheck.matrix.versions import parse
from compatcheck.resolve.verdict import Finding, FindingSource

TURBOQUANT_SINCE, TURBOQUANT_UNTIL = "0.25.0", "0.27.0"
"""Releases whose V1 runner forgets a TurboQuant cache's dtype: get_kv_quant_mode knows it from 0.27 on."""
_SINCE_026 = ("InklingForCausalLM", "InklingForConditionalGeneration", "LongcatFlashNgramForCausalLM")
DEPENDS_SINCE, DEPENDS_UNTIL = "0.25.0", "0.29.0"
"""Releases whose runner depends on the model: before them few are listed for V2, from 0.29 on all have it."""
_ARCHITECTURES = frozenset({"DeepseekV2ForCausalLM", "GraniteMoeForCausalLM", "Qwen2MoeForCausalLM"})
_OF_TYPE = {
    "deepseek_v2": "DeepseekV2ForCausalLM",
    "granitemoe": "GraniteMoeForCausalLM",
    "qwen2_moe": "Qwen2MoeForCausalLM",
}
_V2_METHODS = frozenset({"eagle", "eagle3", "mtp", "dflash", "dspark"})
_WITHOUT_V2 = {
    "--enable-dbo": "dual batch overlap",
    "--enable-elastic-ep": "elastic expert parallelism",
    "--enable-return-routed-experts": "routed experts capture",
    "--enable-prompt-embeds": "prompt embeds",
    "--logits-processors": "custom logits processors",
    "--kv-sharing-fast-prefill": "KV sharing fast prefill",
    "--ec-transfer-config": "EC transfer",
}
"""Options that the V2 runner did not take in these releases, in the engine's words."""
_MAY_POOL = frozenset({"--runner", "--convert", "--task"})
"""Options that may make a model one for pooling."""


def depends_on_runner(dtype: object, release: str) -> bool:
    """Return whether in a release the answer for a cache depends on the model runner."""
    return str(dtype).startswith("turboquant_") and parse(TURBOQUANT_SINCE) <= parse(release) < parse(TURBOQUANT_UNTIL)


def turboquant_finding(
    name: str | None,
    dtype: object,
    config: Mapping[str, Any] | None,
    layers: Sequence[Layer],
    options: OptionFacts,
    v2_asked: bool | None,
    release: str,
) -> Finding | None:
    """Return the finding for a TurboQuant cache on the V1 runner of a release that cannot make one there.

    `v2_asked` is what VLLM_USE_V2_MODEL_RUNNER says, None where it says nothing.
    """
    if config is None or not depends_on_runner(dtype, release):
        return None
    reason = why_v1(config, layers, options, v2_asked, release)
    if reason is None:
        return None
    return findings.make(
        "launch-turboquant-runner",
        "The V1 model runner makes no TurboQuant cache",
        f"{name} runs on vLLM {release}'s V1 model runner ({reason}), which asks the TurboQuant backend for a cache of "
        "dtype 'auto': the start fails while the cache is made.",
        effect="unsupported",
        bites="init",
        why="get_kv_quant_mode knew no turboquant dtype before 0.27.0, and the V1 runner takes a layer without a mode "
        "for one that --kv-cache-dtype-skip-layers leaves out; the V2 runner looks at the kind of its cache instead.",
        fix=f"Use vLLM {TURBOQUANT_UNTIL} or newer, or --kv-cache-dtype fp8.",
        required=f"vLLM < {TURBOQUANT_SINCE} or >= {TURBOQUANT_UNTIL}, or the V2 model runner",
        actual=f"engine_version={release}, kv_cache_dtype={dtype}",
        words="Unknown TurboQuant cache dtype: 'auto'. Valid presets: turboquant_k8v4, turboquant_4bit_nc, "
        "turboquant_k3v4_nc, turboquant_3bit_nc",
        exception="ValueError",
        confirmed="reported",
        source=FindingSource("vllm/v1/worker/gpu_model_runner.py:GPUModelRunner._reshape_kv_cache_tensors@0.25.1"),
        more=(
            FindingSource("vllm/v1/kv_cache_interface.py:get_kv_quant_mode@0.26.0"),
            FindingSource("https://github.com/vllm-project/vllm/issues/50709", kind="thread"),
        ),
    )


def served_by_v2(
    config: Mapping[str, Any] | None, layers: Sequence[Layer], options: OptionFacts, release: str
) -> bool | None:
    """Return True where a release whose runner depends on the model takes V2 for this one; None where that is open."""
    depends = parse(DEPENDS_SINCE) <= parse(release) < parse(DEPENDS_UNTIL)
    if config is None or not depends or not options.on.isdisjoint(_MAY_POOL):
        return None
    if any(layer.facts.get("attn_type") in ("encoder", "encoder_only") for layer in layers):
        return None  # a pooling model, which stays on V1
    return True if why_v1(config, layers, options, None, release) is None else None


def why_v1(
    config: Mapping[str, Any], layers: Sequence[Layer], options: OptionFacts, v2_asked: bool | None, release: str
) -> str | None:
    """Return why the engine takes the V1 runner for a model; None where it takes V2, or it is not known."""
    if v2_asked is not None:
        return None if v2_asked else "VLLM_USE_V2_MODEL_RUNNER=0"
    method = method_of(options.speculative) or None
    if method in ("dspark", "dflash") or str(config.get("model_type")).startswith("diffusion_"):
        return None
    if any(layer.kind in RECURRENT for layer in layers):
        return "the model is a hybrid with recurrent layers"
    if has_experts(text_config(config)) and not _listed(config, release):
        return "a mixture of experts that the release does not list for V2"
    if isinstance(method, str) and method not in _V2_METHODS:
        return f"V2 does not support speculative method {method}"
    left = next((what for option, what in _WITHOUT_V2.items() if option in options.on), None)
    return f"V2 does not support {left}" if left is not None else None


def _listed(config: Mapping[str, Any], release: str) -> bool:
    names = words_of(config.get("architectures")) or [_OF_TYPE.get(str(config.get("model_type")), "")]
    later = _SINCE_026 if parse(release) >= parse("0.26.0") else ()
    return any(name in _ARCHITECTURES or name in later for name in names)
