"""The options of a launch, each handed to its reader: of a repeated one the last counts."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from compatcheck.launch import findings, refusals
from compatcheck.launch.acceptance import accepting, with_key
from compatcheck.launch.arguments import Parsed
from compatcheck.launch.engine_release import EngineRelease
from compatcheck.launch.flag_table import Flag, FlagTable, table
from compatcheck.launch.model import Placed, Setting
from compatcheck.launch.option_facts import OptionFacts
from compatcheck.launch.option_handlers import HANDLERS, LACKING, MAPPINGS
from compatcheck.launch.speculation import refused_keys, refused_value, takes_key
from compatcheck.launch.value_kinds import misfit
from compatcheck.resolve.verdict import Finding


def read_options(parsed: Parsed, flags: FlagTable, release: EngineRelease | None = None) -> OptionFacts:
    """Return what a release (the table's by default) makes of the options; of a repeated one the last counts."""
    facts = OptionFacts(flags, release or EngineRelease(release=flags.release, version=flags.release))
    last: dict[str, Setting] = {setting.option: setting for setting in parsed.settings}
    facts.on = {option for option, setting in last.items() if setting.value not in (None, False, "")}
    for setting in parsed.settings:
        handler = HANDLERS.get(setting.option)
        if last[setting.option] is not setting:
            facts.report(setting, "understood", "given again later, which counts")
        elif handler is None:
            facts.report(setting, "not relevant", "decides nothing that is judged here")
        elif setting.dynamic:
            why = f"its value {_shown(setting.value)} is known only where it is run"
            facts.report(setting, "unknown", why, LACKING.get(setting.option, f"the value of {setting.option}"))
            facts.open.add(setting.option)
        elif setting.option in MAPPINGS and _no_mapping(setting.value, flags.flags.get(setting.option)):
            what = f"what {setting.option} {setting.value!r:.40} means"
            facts.report(setting, "unknown", "it is no JSON object", what)
        else:
            facts.report(setting, "understood", handler(facts, setting))
        _keys(facts, setting)
        if last[setting.option] is setting and not setting.dynamic:
            _values(facts, setting)
            _speculation(facts, setting)
        flag = flags.flags.get(setting.option)
        if flag is not None and flag.deprecated:
            finding = findings.make(
                "launch-option-deprecated",
                "The release warns that this option will go",
                f"vLLM {flags.release} calls {setting.option} deprecated.",
                effect="note",
                fix=f"Remove {setting.option} before the next upgrade.",
            )
            facts.findings.append(Placed(finding, setting.line, setting.column))
    _both_backends(facts, last)
    return facts


def _no_mapping(value: Any, flag: Flag | None) -> bool:
    """Return whether a value is there and no mapping; text that is no JSON the parser refuses by itself."""
    refused = isinstance(value, str) and flag is not None and flag.kind == "json"
    return value not in (None, "", "None") and not isinstance(value, dict) and not refused


def _shown(value: Any) -> str:
    return " ".join(map(str, value)) if isinstance(value, list) else str(value)


def _keys(facts: OptionFacts, setting: Setting) -> None:
    """Find keys that the release's configuration class does not have: it refuses them."""
    flag = facts.flags.flags.get(setting.option)
    if flag is None or not flag.keys or not isinstance(setting.value, dict):
        return
    for key in setting.value:
        if key in flag.keys:
            continue
        accepted = with_key(setting.option, key) if facts.release.version is None else None
        finding = refusals.of_config_key(setting.option, key, facts.flags, accepted, facts.release.outside)
        _refuse(facts, setting, finding, accepted)


def _speculation(facts: OptionFacts, setting: Setting) -> None:
    """Find what the class of --speculative-config refuses, which the table of options does not have."""
    config, release, outside = setting.value, facts.flags.release, facts.release.outside
    if setting.option != "--speculative-config" or not isinstance(config, dict):
        return
    for key in refused_keys(config, release):
        accepted = _where(facts, partial(takes_key, key))
        _refuse(facts, setting, refusals.of_config_key(setting.option, key, facts.flags, accepted, outside), accepted)
    problem = refused_value(config, release)
    if problem is not None:
        accepted = _where(facts, lambda other: refused_value(config, other) is None)
        finding = refusals.of_config_value(setting.option, problem, str(config)[:60], facts.flags, accepted, outside)
        _refuse(facts, setting, finding, accepted)


def _where(facts: OptionFacts, accepts: Callable[[str], bool]) -> tuple[str, ...] | None:
    """Return the covered releases that accept something; None where the release is stated, so that only it counts."""
    return accepting(accepts) if facts.release.version is None else None


def _refuse(facts: OptionFacts, setting: Setting, finding: Finding, accepted: tuple[str, ...] | None) -> None:
    """Note a refusal; where another release may take it, the verdict lacks the release."""
    facts.findings.append(Placed(finding, setting.line, setting.column))
    if finding.effect == "note":
        lacking = "engine_version" if accepted else f"the options of vLLM {facts.release.outside}"
        facts.report(setting, "unknown", finding.message, lacking)


def _values(facts: OptionFacts, setting: Setting) -> None:
    """Find values of another kind than the release's configuration class takes, or out of its bounds."""
    for key, value in _written(setting):
        wanted = _wanted(facts.flags, setting.option, key, value)
        if wanted is None:
            continue
        accepted = _where(facts, partial(_takes, setting.option, key, value))
        problem, found = f"{key or 'it'} has to be {wanted}, found {value!r:.60}", f"{value!r:.60}"
        finding = refusals.of_config_value(setting.option, problem, found, facts.flags, accepted, facts.release.outside)
        _refuse(facts, setting, finding, accepted)


def _written(setting: Setting) -> list[tuple[str | None, Any]]:
    """Return (key, value) of a JSON option's keys; of another option its value."""
    return list(setting.value.items()) if isinstance(setting.value, dict) else [(None, setting.value)]


def _takes(option: str, key: str | None, value: Any, release: str) -> bool:
    return _wanted(table(release), option, key, value) is None


def _wanted(flags: FlagTable, option: str, key: str | None, value: Any) -> str | None:
    """Return what a release takes there instead of a value; None where it takes it, or something else decides."""
    flag = flags.flags.get(option)
    if flag is None:
        return None
    if key is not None:
        kind = flag.types.get(key)
        return misfit(kind, value) if kind is not None else None
    return misfit(flag, value) if isinstance(value, (int, float)) and flag.kind in ("int", "float") else None


def _both_backends(facts: OptionFacts, last: dict[str, Setting]) -> None:
    backend, config = last.get("--attention-backend"), last.get("--attention-config")
    inner = config.value.get("backend") if config is not None and isinstance(config.value, dict) else None
    if backend is not None and inner is not None and not backend.dynamic:
        finding = findings.make(
            "launch-backend-twice",
            "The attention backend is given twice",
            "--attention-backend and attention_config.backend are mutually exclusive: vLLM refuses the two together.",
            effect="unsupported",
            fix="Keep one of the two.",
        )
        facts.findings.append(Placed(finding, backend.line, backend.column))
