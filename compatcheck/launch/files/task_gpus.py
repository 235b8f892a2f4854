"""The GPU that a task asks for: SkyPilot's `resources: {accelerators: H100:8}` and dstack's `resources: {gpu: H100}`.

Sources: https://docs.skypilot.co/en/latest/reference/yaml-spec.html (a name and a count; a set or a list is a choice),
https://dstack.ai/docs/reference/dstack.yml/service (a name, a memory and a count, in any order).
"""

from __future__ import annotations

import re

from compatcheck.launch.model import Word
from compatcheck.launch.yaml_lenient import Node

_NAME = re.compile(r"[A-Za-z]+\d+[\w-]*|RTX[\w-]+", re.I)
_KEYS = ("accelerators", "gpu")


def gpu_of_resources(resources: Node | None) -> Word | None:
    """Return the one GPU that a task can get; None for none, and for a choice."""
    for key in _KEYS:
        asked = resources.get(key) if resources is not None else None
        if asked is None:
            continue
        if isinstance(asked.value, dict):
            name = asked.get("name")
            texts = [(name.text() or "", name)] if name is not None else [(key, asked) for key in asked.value]
        else:
            texts = [(item.text() or "", item) for item in asked.items()]
        if len(texts) != 1 or "," in texts[0][0]:
            continue
        text, node = texts[0]
        found = next((part for part in text.split(":") if _NAME.fullmatch(part)), None)
        if found is not None:
            return Word(found, node.line, node.column)
    return None
