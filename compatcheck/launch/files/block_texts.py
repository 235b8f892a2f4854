"""Texts in YAML that are files themselves, read by the reader of their name, with places counted in the whole file."""

from __future__ import annotations

from compatcheck.launch.files.moving import moved
from compatcheck.launch.files.reader import UnreadableError
from compatcheck.launch.model import Launch
from compatcheck.launch.yaml_lenient import Node

_MANIFESTS = ("apiVersion:", "ConfigMap")
"""What stands in a text that would be read as a manifest in a manifest, and so on."""


def read_block(name: str, node: Node, lines: list[str]) -> list[Launch] | None:
    """Return the launches of a block text by the reader of its name; None where no reader takes it."""
    from compatcheck.launch.files.registry import reader_for

    text = node.text() or ""
    reader = reader_for(name, text) if node.style == "|" and not any(m in text for m in _MANIFESTS) else None
    if reader is None:
        return None
    first = next((line for line in lines[node.line :] if line.strip()), "")
    try:
        return [moved(launch, node.line, len(first) - len(first.lstrip())) for launch in reader.launches(text)]
    except UnreadableError:
        return None
