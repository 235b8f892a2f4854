"""What only the whole model decides: findings that no kind of layers has by itself, each a module of its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from compatcheck.launch.batch_invariance import batch_invariance_finding
from compatcheck.launch.environment import EnvironmentFacts
from compatcheck.launch.model import Layer
from compatcheck.launch.model_runner import turboquant_finding
from compatcheck.launch.option_facts import OptionFacts
from compatcheck.launch.page_sizes import page_finding
from compatcheck.launch.shared_layers import shared_finding
from compatcheck.resolve.verdict import Finding


def model_findings(
    name: str | None,
    config: dict[str, Any] | None,
    layers: Sequence[Layer],
    fields: dict[str, Any],
    options: OptionFacts,
    environment: EnvironmentFacts,
    hybrid: bool | None,
    release: str,
) -> list[tuple[str, Finding]]:
    """Return findings, each with the configuration field whose place in the launch it is about.

    `fields` are the facts that all kinds of layers share, `hybrid`: whether the hybrid KV-cache manager is on.
    """
    dtype = fields.get("kv_cache_dtype")
    invariant = fields.get("use_batch_invariant")
    found = [
        (
            "kv_cache_dtype",
            None
            if environment.runner_open
            else turboquant_finding(name, dtype, config, layers, options, environment.v2_runner, release),
        ),
        ("kv_cache_dtype", page_finding(name, layers, fields, hybrid, release)),
        ("kv_cache_dtype", shared_finding(name, config, dtype)),
        (
            "use_batch_invariant",
            batch_invariance_finding(name, fields.get("model_type"), layers, invariant, release),
        ),
    ]
    return [(field, finding) for field, finding in found if finding is not None]
