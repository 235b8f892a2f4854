"""What the engine's parser stops at, as findings: an error in every release that does not take it.

Where the release is only assumed, what some covered releases take and others do not is a note that names them; the
verdict then lacks the release.
"""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from functools import partial

from compatcheck.launch.acceptance import describe
from compatcheck.launch.arguments import ArgumentProblem
from compatcheck.launch.findings import make
from compatcheck.launch.flag_table import Flag, FlagTable, history, keyword_history, keyword_names, releases, table
from compatcheck.matrix.versions import parse
from compatcheck.resolve.verdict import Finding, FindingSource

RENAMED = {"--task": "--runner pooling, with --convert embed, classify or reward where the model is generative"}
"""Options gone before the first covered release -> what the engine's own hint says (argparse_utils.py@0.33.0)."""


def of_problem(
    problem: ArgumentProblem,
    flags: FlagTable,
    accepted: Sequence[str] | None,
    outside: str | None,
    *,
    python: bool = False,
) -> Finding:
    """Return the finding for something the parser, or in Python the configuration class, stops at.

    `accepted` are the covered releases that take it; None where the release is stated, so that only it counts.
    `outside` is a stated release that is not covered: its own parser may take it.
    """
    release = flags.release
    if problem.kind == "unknown":
        return _unknown(problem, flags, accepted, outside)
    text = {
        "ambiguous": f"{problem.option} may mean {_some(problem.detail)}",
        "missing-value": f"{problem.option} needs a value and has none",
        "bad-value": f"{problem.option} takes {problem.detail}, found {problem.word.text!r}",
        "bad-choice": f"{problem.option} takes one of {problem.detail}; found {problem.word.text!r}",
        "unexpected": f"{problem.word.text!r} belongs to no option; the parser stops at unrecognized arguments"
        + (
            ""
            if not problem.word.text[:1].isspace()
            else " (a backslash continues a line only as the last character of it, and only in a shell)"
        ),
        "unexpected-value": f"{problem.option} is a switch and takes no value, found {problem.detail!r}",
    }[problem.kind]
    who = " refuses it" if python else "'s parser refuses the command"
    return make(
        f"launch-{problem.kind}",
        "The engine's parser stops at this argument",
        f"vLLM {release}{who}: {text}.{_others(accepted, outside)}",
        effect=_effect(accepted, outside),
        fix=_fix_of(problem, flags),
        actual=problem.word.text,
        words=None if python else _words(problem, flags),
    )


def of_module(
    program: str, flags: FlagTable, accepted: Sequence[str] | None, outside: str | None, until: str
) -> Finding:
    """Return the finding for a server module that the release does not have any more."""
    return make(
        "launch-no-module",
        "The release does not have this server any more",
        f"vLLM {flags.release} has no {program.removeprefix('python -m ')}; {until} was the first without it."
        f"{_others(accepted, outside)}",
        effect=_effect(accepted, outside),
        fix="Use vllm serve.",
        source=FindingSource(ref=f"vllm/entrypoints: no api_server.py@{until}"),
    )


def no_release(accepted_each: Sequence[Sequence[str]]) -> Finding:
    """Return the finding for a command of which every part is accepted somewhere, and the whole nowhere."""
    parts = "; ".join(describe(accepted) for accepted in accepted_each)
    return make(
        "launch-no-release",
        "No covered release takes the whole command",
        f"No release from {releases()[0]} to {releases()[-1]} takes all of these options together; its parts are taken "
        f"by: {parts}.",
        effect="unsupported",
        fix="State the release with --vllm; the answer then says what it refuses.",
    )


def of_keyword(owner: str, name: str, flags: FlagTable, accepted: Sequence[str] | None, outside: str | None) -> Finding:
    """Return the finding for a Python keyword that the class does not take."""
    near = difflib.get_close_matches(name, keyword_names(owner, flags.release), n=1, cutoff=0.75)
    callee = "LLM hands it to EngineArgs, which" if owner == "LLM" else f"{owner}"
    return make(
        "launch-unknown-keyword",
        "The release's Python class does not take this keyword",
        f"vLLM {flags.release} has no keyword {name}: {callee} refuses it.{_others(accepted, outside)}",
        effect=_effect(accepted, outside),
        fix=f"Did you mean {near[0]}?" if near else f"Remove {name}.",
        actual=name,
        words=f"{'EngineArgs' if owner == 'LLM' else owner}.__init__() got an unexpected keyword argument {name!r}",
        exception="TypeError",
    )


def of_config_key(
    option: str, key: str, flags: FlagTable, accepted: Sequence[str] | None, outside: str | None
) -> Finding:
    """Return the finding for a key of a JSON option that the release's configuration class does not have."""
    near = difflib.get_close_matches(key, flags.flags[option].keys, n=1)
    return make(
        "launch-config-key",
        "The release's configuration has no such key",
        f"vLLM {flags.release}'s {option} has no key {key!r}.{_others(accepted, outside)}",
        effect=_effect(accepted, outside),
        fix=f"Did you mean {near[0]}?" if near else f"Remove {key!r}.",
        actual=key,
    )


def of_config_value(
    option: str, problem: str, written: str, flags: FlagTable, accepted: Sequence[str] | None, outside: str | None
) -> Finding:
    """Return the finding for a value that the release's configuration class refuses."""
    return make(
        "launch-config-value",
        "The release's configuration refuses this value",
        f"vLLM {flags.release} refuses {option}: {problem}.{_others(accepted, outside, by='not refused there by')}",
        effect=_effect(accepted, outside),
        fix="Write a value that the release takes, or leave it out.",
        actual=written,
        exception="ValidationError",
    )


def of_quantization(name: str, flags: FlagTable, accepted: Sequence[str] | None, outside: str | None) -> Finding:
    """Return the finding for a quantisation method that the release does not have."""
    near = difflib.get_close_matches(name, keyword_names("QuantizationMethods", flags.release), n=1, cutoff=0.6)
    until = next((end for _, end in reversed(keyword_history("QuantizationMethods", name)) if end), None)
    before = f"; releases before {until} had it" if until and parse(until) <= parse(flags.release) else ""
    return make(
        "launch-unknown-quantization",
        "The release has no such quantisation method",
        f"vLLM {flags.release} has no quantisation method {name}{before}.{_others(accepted, outside)}",
        effect=_effect(accepted, outside),
        why="A plugin may register methods of its own; nothing in the launch says that one does.",
        fix=f"Did you mean {near[0]}?" if near else "Name a method of this release, or leave it to the checkpoint.",
        actual=name,
        words=f"Unknown quantization method: {name}.",
        exception="ValueError",
        source=FindingSource(ref="vllm/config/model.py:ModelConfig._verify_quantization@0.33.0"),
    )


_EXTRA = "vllm: error: unrecognized arguments: "


def parser_words(refused: Sequence[Finding]) -> str | None:
    """Return the engine's own words for what it refuses, the first that it meets; None where they are not known.

    argparse reports an argument that it cannot read before it reports, in one line, those that belong to nothing. What
    reads the configuration comes after the parser.
    """
    errors = [finding for finding in refused if finding.exception is None]
    said = [f.words for f in errors if f.words is not None]
    first = next((words for words in said if not words.startswith(_EXTRA)), None)
    if first is not None or any(f.words is None for f in errors):
        return first
    if said:
        return _EXTRA + " ".join(words.removeprefix(_EXTRA) for words in said)
    raised = next((f for f in refused if f.words is not None), None)
    return f"{raised.exception}: {raised.words}" if raised is not None else None


def _effect(accepted: Sequence[str] | None, outside: str | None) -> str:
    return "note" if accepted or outside else "unsupported"


def _others(accepted: Sequence[str] | None, outside: str | None, by: str = "accepted by") -> str:
    first, last = releases()[0], releases()[-1]
    if outside is not None:
        return f" vLLM {outside} is not covered ({first} to {last} are); its own parser may take it."
    if accepted is None:
        return ""
    if accepted:
        return f" The release is only assumed; it is {by} {describe(accepted)}."
    return f" No release from {first} to {last} accepts it."


def _some(names: str) -> str:
    every = names.split(", ")
    return ", ".join(every[:4]) + (", ..." if len(every) > 4 else "")


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


def _words(problem: ArgumentProblem, flags: FlagTable) -> str | None:
    """Return argparse's own line, where what it says depends on nothing that is not known here.

    Compared with the released parser's errors in tests/launch/test_arguments.py. `unrecognized arguments` is one line
    for all of them; whoever prints the words joins them.
    """
    flag = flags.flags.get(problem.option)
    kinds = {"int": "int", "float": "float"}
    said: str | None = None
    if problem.kind in ("unknown", "unexpected"):
        return f"{_EXTRA}{problem.rest or problem.word.text}"
    if flag is None or problem.kind == "ambiguous":
        return None  # the parser names them in the order in which it was built
    if problem.kind == "missing-value":
        said = f"argument {_names(flag)}: expected {'at least one' if flag.kind == 'list' else 'one'} argument"
    elif problem.kind == "bad-choice":
        choices = ", ".join(sorted(repr(choice) for choice in flag.choices))
        said = f"argument {_names(flag)}: invalid choice: {problem.word.text!r} (choose from {choices})"
    elif problem.kind == "bad-value" and flag.kind in kinds:
        said = f"argument {_names(flag)}: invalid {kinds[flag.kind]} value: {problem.word.text!r}"
    return f"vllm serve: error: {said}" if said else None


def _names(flag: Flag) -> str:
    return "/".join((flag.option, *flag.aliases))


def _unknown(
    problem: ArgumentProblem, flags: FlagTable, accepted: Sequence[str] | None, outside: str | None
) -> Finding:
    release, option = flags.release, problem.option
    spans = _history_of(option)
    said = partial(make, effect=_effect(accepted, outside), words=_words(problem, flags))
    more = _others(accepted, outside)
    if spans:
        since, until = spans[-1]
        if until is not None and parse(until) <= parse(release):
            return said(
                "launch-option-removed",
                "This release has no such option any more",
                f"vLLM {release} has no {option}: it was removed in {until}.{more}",
                fix=f"Remove {option}, or stay on a release before {until}.",
                required=f"vLLM < {until}",
                actual=f"engine_version={release}",
            )
        first = next((s for s, _ in spans if s is not None), since)
        return said(
            "launch-option-later",
            "This release does not have the option yet",
            f"vLLM {release} has no {option}: it came with {first}.{more}",
            fix=f"Remove {option}, or use vLLM {first} or newer.",
            required=f"vLLM >= {first}",
            actual=f"engine_version={release}",
        )
    near = near_option(option, flags)
    hint = RENAMED.get(option)
    return said(
        "launch-unknown-option",
        "No covered release has this option",
        f"vLLM {release} has no option {option}; no release from {releases()[0]} to {releases()[-1]} has it."
        + (more if outside else ""),
        fix=f"Use {hint}." if hint else (f"Did you mean {near}?" if near else f"Remove {option}."),
        actual=option,
    )


def near_option(option: str, flags: FlagTable) -> str | None:
    """Return the spelling that was meant, or None: long options are near long ones, short ones near nothing else."""
    if "-" + option.lstrip("-") in flags.spellings:
        return "-" + option.lstrip("-")
    long = option.startswith("--")
    known = [name for name in flags.spellings if name.startswith("--") == long and len(name) > 2]
    found = difflib.get_close_matches(option, known, n=1, cutoff=0.75)
    return found[0] if found else None


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
