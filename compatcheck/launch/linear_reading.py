"""A launch's NVFP4 linear layers: scheme and sizes from the model, the kernel from options and variables."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from compatcheck.launch import findings
from compatcheck.launch.checkpoint import quantization_of
from compatcheck.launch.experts import has_experts
from compatcheck.launch.flag_table import FlagTable
from compatcheck.launch.layer_schemes import Schemes
from compatcheck.launch.linear_forced import forced_finding, narrows
from compatcheck.launch.linear_plan import LinearLayers, LinearPlan
from compatcheck.launch.linear_scheme import SINCE, knows
from compatcheck.launch.linear_shapes import Shape, recurrent_shapes, shapes_of
from compatcheck.launch.model_config import text_config
from compatcheck.launch.model_memory import ModelMemory
from compatcheck.matrix.linear_model import Linear
from compatcheck.resolve.configuration import LINEAR_FIELDS, Configuration
from compatcheck.resolve.linear_env import EnvRefusal, env_refusal
from compatcheck.resolve.verdict import Finding, FindingSource

NAMED_NVFP4 = re.compile(r"nvfp4|[-_]fp4(?:[-_]|$)", re.I)
"""Model ids that say that the checkpoint is FP4, whatever is in its configuration."""
FORCING = {"VLLM_USE_FBGEMM": "use_fbgemm", "VLLM_USE_NVFP4_CT_EMULATIONS": "use_nvfp4_ct_emulations"}
"""Variables that force a kernel up to 0.23, and the fields that say so."""


def read_linear(
    model: str | None,
    config: dict[str, Any] | None,
    ranks: int | None,
    chosen: dict[str, Any],
    per_scheme: dict[str, str],
    given: Configuration,
    flags: FlagTable,
    memory: ModelMemory,
    *,
    exact: bool,
    use_mla: bool,
    open_: tuple[str, ...] = (),
) -> LinearPlan:
    """Return the plan. `chosen` are fields that options and variables set; `given` are those that the user states.

    `per_scheme` are the values of linear_backend_per_quant, which count before `chosen` and not before `given`.

    `open_` names options and variables that choose a kernel by a value that only the shell knows.

    `ranks` None: the tensor parallel size is not known, and so neither are the sizes. `exact` is False for a model of
    the packaged table, whose checkpoint may be quantised or not.
    """
    stated = {name: getattr(given, name) for name in LINEAR_FIELDS if getattr(given, name) is not None}
    fields = {**chosen, **stated}
    text = text_config(config or {})
    quantization = quantization_of(config or {}, text)
    count = text.get("num_hidden_layers")
    count = count if isinstance(count, int) else 1
    every = [*shapes_of(text, ranks or 1, use_mla=use_mla), *recurrent_shapes(text)]
    kinds = memory.kinds(quantization) if quantization is not None else None
    backend = fields.get("linear_backend")
    forced = forced_finding(kinds, every, count, backend, flags.release)
    doubtful = _unjudged(kinds) if narrows(backend, flags.release) else ()
    wrong = (forced,) if forced is not None and given.linear is None and not doubtful else ()
    schemes = memory.schemes(quantization, flags.release) if quantization is not None else None
    if given.linear is not None:
        schemes = Schemes(whole=given.linear)
    if schemes is None:
        unsure = not exact and model is not None and NAMED_NVFP4.search(model)
        missing = (f"how {model} is quantised (its config.json)",) if unsure else doubtful
        return LinearPlan(fields=fields, findings=wrong, missing=missing)
    if schemes.refused is not None:
        return LinearPlan(fields=fields, findings=(_refused(schemes.refused, flags.release),))
    shapes = shapes_of(text, ranks or 1, use_mla=use_mla)
    if ranks is None:
        shapes = [msgspec.structs.replace(shape, in_features=None, out_features=None) for shape in shapes]
    shapes = [_overridden(shape, stated) for shape in shapes]
    layers = _grouped(shapes, schemes, count)
    return LinearPlan(
        layers=layers,
        fields=fields,
        per_scheme={} if given.linear_backend is not None else per_scheme,
        findings=(*wrong, *((_experts(),) if has_experts(text) else ())),
        missing=(*dict.fromkeys((*doubtful, *_unjudged(schemes))), *(open_ if layers else ())),
        stated=bool(stated) or given.linear is not None,
    )


def _unjudged(schemes: Schemes | None) -> tuple[str, ...]:
    """Return what is not known of the layers because an expression of the checkpoint is not judged."""
    return tuple(f"which layers the checkpoint's {name:.60} names" for name in schemes.unjudged) if schemes else ()


def _overridden(shape: Shape, stated: dict[str, Any]) -> Shape:
    sizes = {name: stated[name] for name in ("in_features", "out_features") if name in stated}
    return msgspec.structs.replace(shape, **sizes) if sizes else shape


def _grouped(shapes: list[Shape], schemes: Schemes, count: int) -> tuple[LinearLayers, ...]:
    found: dict[tuple[str, int | None, int | None], list[str]] = {}
    for shape in shapes:
        for scheme in schemes.at(shape.parts, count, shape.fused):
            found.setdefault((scheme, shape.in_features, shape.out_features), []).append(shape.name)
    return tuple(
        LinearLayers(names=tuple(names), scheme=scheme, in_features=k, out_features=n)
        for (scheme, k, n), names in found.items()
    )


def environment_fields(
    variables: dict[str, str], engine: Linear | None, flags: FlagTable
) -> tuple[dict[str, Any], list[Finding]]:
    """Return the fields that variables set for linear layers, and what is wrong with their values.

    `engine` is what the matrix says of the engine's linear layers.
    """
    kernels = list(engine.kernels) if engine is not None else []
    fields: dict[str, Any] = {}
    wrong: list[Finding] = []
    disabled = [name.strip() for name in variables.get("VLLM_DISABLED_KERNELS", "").split(",") if name.strip()]
    if disabled:
        fields["disabled_kernels"] = tuple(name for name in disabled if name in kernels)
        strange = [name for name in disabled if name not in kernels]
        if strange:
            wrong.append(_no_kernel(strange, kernels))
    for variable, field in FORCING.items():
        if truth_of(variables.get(variable, "0")):
            fields[field] = True
    gemm = variables.get("VLLM_NVFP4_GEMM_BACKEND")
    if gemm is not None and engine is not None:
        refusal = env_refusal(engine, flags.release, gemm)
        if refusal is None:
            fields["nvfp4_gemm_backend"] = gemm
        else:
            wrong.append(_bad_gemm(refusal, flags.release))
    return {name: value for name, value in fields.items() if value}, wrong


def truth_of(text: str) -> bool | None:
    """Return what `bool(int(text))` makes of a variable's text; None where it is no whole number."""
    try:
        return bool(int(text))
    except ValueError:
        return None


def _refused(algorithm: str, release: str) -> Finding:
    since = SINCE.get(algorithm)
    return findings.make(
        "launch-quant-algo",
        "The release does not know the checkpoint's quantisation",
        f"vLLM {release} refuses the checkpoint: "
        + (f"ModelOpt's {algorithm} came with {since}." if since else f"it knows no ModelOpt algorithm {algorithm!r}."),
        effect="unsupported",
        required=f"vLLM >= {since}" if since else ", ".join(name for name in SINCE if knows(name, release)),
        actual=f"quant_algo={algorithm or None}",
        fix=f"Use vLLM {since} or newer." if since else "Use a checkpoint with an algorithm that the release knows.",
        words="ModelOpt currently only supports: " if algorithm else "Missing 'quant_algo' in quantization config",
        exception="ValueError",
        source=FindingSource(ref="vllm/model_executor/layers/quantization/modelopt.py:QUANT_ALGOS@0.33.0"),
    )


def _experts() -> Finding:
    return findings.make(
        "launch-experts-not-judged",
        "Kernels of experts are not judged",
        "The checkpoint is NVFP4 and the model has experts; which kernel computes them (--moe-backend) is not judged "
        "here, only attention and linear layers are.",
        effect="note",
        bites="init",
        source=FindingSource(ref="vllm/model_executor/layers/fused_moe/oracle/nvfp4.py@0.33.0"),
    )


def _no_kernel(names: list[str], kernels: list[str]) -> Finding:
    import difflib

    near = difflib.get_close_matches(names[0], kernels, n=1, cutoff=0.7)
    return findings.make(
        "launch-disabled-kernel-unknown",
        "VLLM_DISABLED_KERNELS names no NVFP4 kernel",
        f"VLLM_DISABLED_KERNELS names {', '.join(names)}, which is no NVFP4 kernel class; the engine compares class "
        "names and says nothing about others.",
        effect="note",
        fix=f"Did you mean {near[0]}?" if near else "Name classes such as " + ", ".join(kernels[:2]) + ".",
        source=FindingSource(ref="vllm/envs.py:VLLM_DISABLED_KERNELS@0.33.0"),
    )


def _bad_gemm(refusal: EnvRefusal, release: str) -> Finding:
    return findings.make(
        "launch-bad-variable",
        "The variable has a value that the release refuses",
        f"vLLM {release} refuses VLLM_NVFP4_GEMM_BACKEND={refusal.value}; it takes {', '.join(refusal.known)}.",
        effect="unsupported",
        bites="init",
        actual=refusal.value,
        words=refusal.words,
        exception=refusal.exception,
        fix="Write one of these values, or remove it.",
        source=refusal.sources[0],
    )
