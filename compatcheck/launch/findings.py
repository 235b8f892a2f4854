"""Findings about the launch itself: options and variables that this release does not read as the user means them."""

from __future__ import annotations

import difflib

from compatcheck.launch.arguments import ArgumentProblem
from compatcheck.launch.flag_table import FlagTable, history, releases, table, variable_history
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
    "VLLM_USE_CUDNN_PREFILL": ("mla_prefill_backend", "--attention-config.mla_prefill_backend=..."),
    "VLLM_USE_TRTLLM_RAGGED_DEEPSEEK_PREFILL": (
        "mla_prefill_backend",
        "--attention-config.mla_prefill_backend=TRTLLM_RAGGED",
    ),
    "VLLM_DISABLE_FLASHINFER_PREFILL": ("mla_prefill_backend", "--attention-config.mla_prefill_backend=..."),
}
"""Variable -> the option, or key of --attention-config, that took its place, and how to write it."""
RENAMED = {"--task": "--runner pooling, with --convert embed, classify or reward where the model is generative"}
"""Options gone before the first covered release -> what the engine's own hint says (argparse_utils.py@0.33.0)."""


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
    source: FindingSource = _PARSER,
) -> Finding:
    """Return a finding of the launch readers."""
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
        sources=(source,),
    )


def of_problem(problem: ArgumentProblem, flags: FlagTable, *, certain: bool) -> Finding:
    """Return the finding for something the parser stops at.

    `certain` is False where the release itself is an assumption: what another release accepts is then only a note.
    """
    release = flags.release
    if problem.kind == "unknown":
        return _unknown(problem.option, flags, certain=certain)
    text = {
        "ambiguous": f"{problem.option} may mean {problem.detail}",
        "missing-value": f"{problem.option} needs a value and has none",
        "bad-value": f"{problem.option} takes {problem.detail}, found {problem.word.text!r}",
        "bad-choice": f"{problem.option} takes one of {problem.detail}; found {problem.word.text!r}",
        "unexpected": f"{problem.word.text!r} belongs to no option; the parser stops at unrecognized arguments",
        "unexpected-value": f"{problem.option} is a switch and takes no value, found {problem.detail!r}",
    }[problem.kind]
    return make(
        f"launch-{problem.kind}",
        "The engine's parser stops at this argument",
        f"vLLM {release}'s parser refuses the command: {text}.",
        effect="unsupported" if certain or problem.kind in ("ambiguous", "missing-value") else "note",
        fix=_fix_of(problem, flags),
        actual=problem.word.text,
    )


def _fix_of(problem: ArgumentProblem, flags: FlagTable) -> str:
    if problem.kind == "bad-choice":
        near = difflib.get_close_matches(problem.word.text, [c.strip() for c in problem.detail.split(",")], n=1)
        return f"Write {problem.option} {near[0]}." if near else "Choose one of the values listed."
    if problem.kind == "unexpected":
        return "Remove it, or quote it together with the option that it belongs to."
    if problem.kind == "unexpected-value":
        return f"Write {problem.option}" + (f" or --no-{problem.option.removeprefix('--')}." if problem.option else ".")
    if problem.kind == "ambiguous":
        return "Write the option in full."
    return f"Give {problem.option} a value that it takes."


def _unknown(option: str, flags: FlagTable, *, certain: bool) -> Finding:
    release = flags.release
    spans = _history_of(option)
    effect = "unsupported" if certain else "note"
    if spans:
        since, until = spans[-1]
        gone = until is not None and _not_later(until, release)
        if gone:
            return make(
                "launch-option-removed",
                "This release has no such option any more",
                f"vLLM {release} has no {option}: it was removed in {until}.",
                effect=effect,
                fix=f"Remove {option}, or stay on a release before {until}.",
                required=f"vLLM < {until}",
                actual=f"engine_version={release}",
            )
        first = next((s for s, _ in spans if s is not None), since)
        return make(
            "launch-option-later",
            "This release does not have the option yet",
            f"vLLM {release} has no {option}: it came with {first}.",
            effect=effect,
            fix=f"Remove {option}, or use vLLM {first} or newer.",
            required=f"vLLM >= {first}",
            actual=f"engine_version={release}",
        )
    near = difflib.get_close_matches(option, list(flags.spellings), n=1, cutoff=0.75)
    covered = releases()
    hint = RENAMED.get(option)
    return make(
        "launch-unknown-option",
        "No covered release has this option",
        f"vLLM {release} has no option {option}; no release from {covered[0]} to {covered[-1]} has it.",
        effect=effect,
        fix=f"Use {hint}." if hint else (f"Did you mean {near[0]}?" if near else f"Remove {option}."),
        actual=option,
    )


def _history_of(option: str) -> list[tuple[str | None, str | None]]:
    """Return when an option or one of its other spellings was there."""
    found = history(option)
    if not found and option.startswith("--no-"):
        found = history("--" + option.removeprefix("--no-"))
    if found:
        return found
    for release in releases():
        entry = table(release).spellings.get(option)
        if entry is not None:
            return history(entry[0].option)
    return []


def _not_later(one: str, other: str) -> bool:
    from compatcheck.matrix.versions import parse

    return parse(one) <= parse(other)


def ignored_variable(name: str, value: str | None, flags: FlagTable) -> Finding:
    """Return the finding for a VLLM_ variable that the release does not read."""
    spans = variable_history(name)
    release = flags.release
    if not spans:
        what = "no covered release reads it"
    else:
        since, until = spans[-1]
        gone = until is not None and _not_later(until, release)
        what = f"it was read before {until}" if gone else f"{since} was the first to read it"
    key, how = INSTEAD.get(name, (None, None))
    attention = flags.flags.get("--attention-config")
    usable = key is not None and (key in flags.flags or (attention is not None and key in attention.keys))
    if how is not None and usable:
        shown = value or "..."
        fix = f"Use {how.format(value=shown, boolean='false' if shown in ('0', 'false') else 'true')}."
    else:
        from compatcheck.launch.flag_table import variable_names

        near = difflib.get_close_matches(name, variable_names(release), n=1, cutoff=0.85)
        fix = f"Did you mean {near[0]}?" if near else f"Remove {name}; nothing changes without it."
    return make(
        "launch-variable-ignored",
        "This release does not read the variable",
        f"vLLM {release} does not read {name}: {what}. It is set here and has no effect.",
        effect="degraded" if name in INSTEAD else "note",
        fix=fix,
        actual=f"{name}={value}" if value is not None else name,
        source=_ENVS,
    )
