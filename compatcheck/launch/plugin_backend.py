"""A backend's name behind which a plugin puts a class of its own: what it takes, only the plugin says.

Source: vllm/v1/attention/backends/registry.py:AttentionBackendEnum.get_path@0.33.0.
"""

from __future__ import annotations

import msgspec

from compatcheck.launch import findings
from compatcheck.launch.model import LaunchFacts
from compatcheck.matrix.model import Matrix
from compatcheck.resolve.configuration import Configuration
from compatcheck.resolve.verdict import FindingSource, Verdict


def without_plugin(
    matrix: Matrix, configuration: Configuration, facts: LaunchFacts
) -> tuple[Configuration, str | None]:
    """Return a configuration without a backend that a plugin registers, and its name; None where it names no such one.

    What the user states apart from the launch stays.
    """
    name = configuration.backend
    engine = matrix.engines[str(configuration.engine or "vllm").lower()]
    if name not in engine.plugin_backends or "backend" not in facts.places:
        return configuration, None
    return msgspec.structs.replace(configuration, backend=None), name


def plugin_verdict(name: str) -> Verdict:
    """Return the verdict for layers of a backend that a plugin registers."""
    note = findings.make(
        "launch-plugin-backend",
        "A plugin decides what this backend takes",
        f"{name} stands for a backend that a plugin registers; without one the engine refuses it, and what it takes "
        "only its own class says.",
        effect="note",
        bites="selection",
        fix="Ask the plugin's documentation, or name one of the engine's own backends.",
        actual=name,
        words=f"Backend {name} must be registered before use.",
        exception="ValueError",
        source=FindingSource("vllm/v1/attention/backends/registry.py:AttentionBackendEnum.get_path@0.33.0"),
    )
    missing = (f"what the plugin registers as {name}",)
    return Verdict(verdict="unknown", engine_accepts=None, findings=(note,), missing=missing)
