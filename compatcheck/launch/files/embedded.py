"""Files that stand as texts in manifests: those of a ConfigMap, and a chart's values in what deploys the chart."""

from __future__ import annotations

from compatcheck.launch.files import llm_d_values, production_stack
from compatcheck.launch.files.block_texts import read_block
from compatcheck.launch.files.yaml_scripts import launches_in_scalars
from compatcheck.launch.model import Launch
from compatcheck.launch.yaml_lenient import Node

_VALUES = (llm_d_values.MARK, production_stack.MARK)


def launches_in_config_map(document: Node, lines: list[str]) -> list[Launch]:
    """Return the launches in the files of a ConfigMap, each read as its key says; else what reads like a script."""
    data = document.get("data")
    found: list[Launch] = []
    for name, node in data.value.items() if data is not None and isinstance(data.value, dict) else ():
        launches = read_block(name, node, lines)
        found += launches_in_scalars(node, lines) if launches is None else launches
    return found


def launches_in_values(document: Node, lines: list[str]) -> list[Launch]:
    """Return the launches of a chart's values that stand in a manifest, as a mapping or as a text."""
    found = production_stack.launches_of_stack(document, lines) + llm_d_values.launches_of_llm_d(document, lines)
    for node in document.walk():
        if any(mark in (node.text() or "") for mark in _VALUES):
            found += read_block("values.yaml", node, lines) or []
    return found
