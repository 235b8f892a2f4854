"""Findings about the launch itself: options and variables that this release does not read as the user means them."""

from __future__ import annotations

import difflib

from compatcheck.launch.flag_table import FlagTable, variable_history, variable_names
from compatcheck.matrix.versions import parse
from compatcheck.resolve.verdict import Finding, FindingSource

_PARSER = FindingSource(ref="tools/generate_flags.py over the released wheels: engine/arg_utils.py:add_cli_args")
_ENVS = FindingSource(ref="tools/generate_flags.py over the released wheels: envs.py:environment_variables")

INSTEAD = {
    "VLLM_ATTENTION_BACKEND": ("--attention-backend", "--attention-backend {value}"),
    "VLLM_USE_TRTLLM_ATTENTION": ("use_trtllm_attention", "--attention-config.use_trtllm_attention={boolean}"),
    "VLLM_FLASH_ATTN_VERSION": ("flash_attn_version", "--attention-config.flash_attn_version={value}"),
    "VLLM_FLASHINFER_DISABLE_Q_QUANTIZATION": (
        "disable_flashinfer_q_quantization",
        "--attention-config.disable_flashinfer_q_quantization={boolean}",
    ),
    "VLLM_USE_CUDNN_PREFILL": ("mla_prefill_backend", "--attention-config.mla_prefill_backend=NAME"),
    "VLLM_USE_TRTLLM_RAGGED_DEEPSEEK_PREFILL": (
        "mla_prefill_backend",
        "--attention-config.mla_prefill_backend=TRTLLM_RAGGED",
    ),
    "VLLM_NVFP4_GEMM_BACKEND": ("--linear-backend", "--linear-backend {underscored}"),
    "VLLM_DISABLE_FLASHINFER_PREFILL": ("mla_prefill_backend", "--attention-config.mla_prefill_backend=NAME"),
}
"""Variable -> the option, or key of --attention-config, that took its place, and how to write it."""


def make(
    code: str,
    name: str,
    message: str,
    *,
    effect: str,
    bites: str = "config",
    refuser: str = "engine",
    fix: str | None = None,
    why: str | None = None,
    required: str | None = None,
    actual: str | None = None,
    words: str | None = None,
    exception: str | None = None,
    confirmed: str | None = None,
    recheck: str | None = None,
    source: FindingSource = _PARSER,
    more: tuple[FindingSource, ...] = (),
) -> Finding:
    """Return a finding of the launch readers; `more` are sources beside the first."""
    return Finding(
        code=code,
        name=name,
        refuser=refuser,
        bites=bites,
        effect=effect,
        message=message,
        fix=fix,
        why=why,
        required=required,
        actual=actual,
        words=words,
        exception=exception,
        confirmed=confirmed,
        recheck=recheck,
        sources=(source, *more),
    )


def ignored_variable(name: str, value: str | None, flags: FlagTable, *, assumed: bool) -> Finding:
    """Return the finding for a VLLM_ variable that the release does not read.

    Where nothing states the release (`assumed`), that is a note: another release may read it.
    """
    spans = variable_history(name)
    release = flags.release
    if not spans:
        what = "0.14.1 was the last to read it" if name in INSTEAD and not spans else "no covered release reads it"
    else:
        since, until = spans[-1]
        gone = until is not None and parse(until) <= parse(release)
        what = f"it was read before {until}" if gone else f"{since} was the first to read it"
    key, how = INSTEAD.get(name, (None, None))
    attention = flags.flags.get("--attention-config")
    usable = key is not None and (key in flags.flags or (attention is not None and key in attention.keys))
    if how is not None and usable:
        shown = value or "VALUE"
        truth = "false" if shown in ("0", "false") else ("true" if value else "VALUE")
        fix = f"Use {how.format(value=shown, boolean=truth, underscored=shown.replace('-', '_'))}." + (
            "" if value else " VALUE is what it gets."
        )
    else:
        near = difflib.get_close_matches(name, variable_names(release), n=1, cutoff=0.85)
        fix = f"Did you mean {near[0]}?" if near else f"Remove {name}; nothing changes without it."
    readers = _readers(name)
    return make(
        "launch-variable-ignored",
        "This release does not read the variable",
        f"vLLM {release} does not read {name}: {what}. "
        + (f"The release is only assumed; {readers}." if assumed and readers else "It is set here and has no effect."),
        effect="degraded" if name in INSTEAD and key != "--linear-backend" and not assumed else "note",
        fix=fix,
        actual=f"{name}={value}" if value is not None else name,
        source=_ENVS,
    )


def _readers(name: str) -> str | None:
    """Return which releases read a variable, as words; None where none is known to."""
    spans = variable_history(name)
    if not spans:
        return "releases up to 0.14.1 read it" if name in INSTEAD else None
    parts = [
        " ".join([f"since {since}" if since else "", f"before {until}" if until else ""]).strip() or "every release"
        for since, until in spans
    ]
    return f"releases that read it: {', '.join(parts)}"
