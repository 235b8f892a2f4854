"""--kernel-config: the kernels of linear layers that it asks for, by itself or for each scheme.

Source: vllm/config/kernel.py:KernelConfig@0.33.0 and vllm/model_executor/kernels/linear/__init__.py:_get_linear_backend
@0.33.0; vllm/engine/arg_utils.py:EngineArgs.create_engine_config@0.33.0: --linear-backend counts before the key.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from compatcheck.launch import refusals
from compatcheck.launch.acceptance import accepting
from compatcheck.launch.flag_table import table
from compatcheck.launch.model import Placed, Setting
from compatcheck.launch.option_facts import OptionFacts

OPTION = "--linear-backend"
"""The option whose values the keys take too."""
KEY, PER_SCHEME = "linear_backend", "linear_backend_per_quant"


def read_kernel_config(facts: OptionFacts, setting: Setting) -> str:
    """Take what --kernel-config says of linear layers, and find values that the release's class refuses."""
    config = setting.value
    if not isinstance(config, dict):
        return "not a mapping, so nothing is taken from it"
    keys = facts.flags.flags[setting.option].keys
    understood: list[str] = []
    if KEY in keys and not isinstance(config.get(KEY), (str, type(None))):
        _refuse(facts, setting, f"{KEY} takes a name; found {config[KEY]!r:.40}", str(config[KEY]), None)
    elif KEY in keys and config.get(KEY) is not None:
        name = config[KEY].lower().replace("-", "_")
        understood.append(KEY)
        if name != "auto" and _known(facts, setting, KEY, config[KEY], name):
            facts.linear.setdefault(KEY, name)
            facts.places.setdefault(KEY, (setting.line, setting.column))
    schemes = config.get(PER_SCHEME)
    if PER_SCHEME in keys and isinstance(schemes, dict):
        understood.append(PER_SCHEME)
        if not schemes:
            _refuse(
                facts, setting, f"{PER_SCHEME} holds nothing; it has to name one scheme or more", str(schemes), None
            )
        for scheme, value in schemes.items():
            if _known(facts, setting, f"{PER_SCHEME}.{scheme}", value, value):
                facts.linear_per_scheme[str(scheme)] = value
                facts.places.setdefault(KEY, (setting.line, setting.column))
    return f"kernel settings: {', '.join(understood) or 'none that is judged here'}"


def _known(facts: OptionFacts, setting: Setting, key: str, written: Any, name: Any) -> bool:
    """Return whether some release has the value; note it where this one has not."""

    def takes(release: str) -> bool:
        flag = table(release).flags.get(OPTION)
        return flag is not None and name in flag.choices

    if takes(facts.flags.release):
        return True
    flag = facts.flags.flags.get(OPTION)
    choices = ", ".join(map(str, flag.choices)) if flag is not None else "no value"
    accepted = accepting(takes) if facts.release.version is None else None
    _refuse(facts, setting, f"{key} takes one of {choices}; found {written!r}", str(written), accepted)
    return False


def _refuse(facts: OptionFacts, setting: Setting, text: str, actual: str, accepted: Sequence[str] | None) -> None:
    outside = facts.release.outside
    finding = refusals.of_config_value(setting.option, text, actual, facts.flags, accepted, outside)
    facts.findings.append(Placed(finding, setting.line, setting.column))
    if finding.effect == "note":
        lacking = "engine_version" if accepted else f"the options of vLLM {outside}"
        facts.report(setting, "unknown", finding.message, lacking)
