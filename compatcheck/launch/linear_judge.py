"""The verdict for a launch's NVFP4 linear layers: one for each scheme and size, the worst one leading."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from compatcheck.launch.linear_plan import LinearLayers, LinearPlan
from compatcheck.resolve.configuration import LINEAR_FIELDS, Configuration
from compatcheck.resolve.merge import SEVERITY
from compatcheck.resolve.normalise import ConfigurationError, normalise
from compatcheck.resolve.verdict import Verdict

if TYPE_CHECKING:
    from compatcheck.matrix.load import LoadedMatrix

SHARED = (
    "engine",
    "engine_version",
    "flashinfer_version",
    "torch_version",
    "cuda_version",
    "sm",
    "dtype",
    "use_batch_invariant",
    "has_flashinfer",
)
"""Facts that linear layers and attention have in common."""


class LinearVerdict(msgspec.Struct, frozen=True, kw_only=True):
    """The verdict for layers of one scheme and one size on a rank, with its normalised facts, and as it was asked."""

    layers: LinearLayers
    verdict: Verdict
    facts: Configuration
    asked: Configuration


def judge_linear(
    loaded: LoadedMatrix, plan: LinearPlan, base: Configuration
) -> tuple[list[LinearVerdict], tuple[str, ...]]:
    """Return the verdicts, the worst first, and what is missing to judge them.

    `base` is what the launch says apart from linear layers. Raises `ConfigurationError` for what the user stated.
    """
    shared = {name: getattr(base, name) for name in SHARED if getattr(base, name) is not None}
    fields = {name: value for name, value in plan.fields.items() if name in LINEAR_FIELDS}
    sizes = {"in_features", "out_features"}
    found: list[LinearVerdict] = []
    missing: list[str] = []
    for layers in plan.layers:
        own = {name: value for name, value in fields.items() if name not in sizes}
        if layers.scheme in plan.per_scheme:
            own["linear_backend"] = plan.per_scheme[layers.scheme]
        configuration = Configuration(
            **shared,
            **own,
            linear=layers.scheme,
            in_features=layers.in_features,
            out_features=layers.out_features,
        )
        try:
            normal = normalise(loaded.matrix, configuration)
            verdict = loaded.resolver.resolve(configuration, alternatives=False)
        except ConfigurationError as error:
            if any(field not in LINEAR_FIELDS for field, _ in error.problems) or plan.stated:
                raise
            missing += [f"{field} ({text})" for field, text in error.problems]
            continue
        found.append(LinearVerdict(layers=layers, verdict=verdict, facts=normal.facts, asked=configuration))
    found.sort(key=lambda one: SEVERITY[one.verdict.verdict])
    return found, tuple(dict.fromkeys(missing))
