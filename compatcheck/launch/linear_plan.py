"""What a launch says of its NVFP4 linear layers. Values only."""

from __future__ import annotations

from typing import Any

import msgspec

from compatcheck.resolve.verdict import Finding


class LinearLayers(msgspec.Struct, frozen=True, kw_only=True):
    """Layers of one scheme and one size on a rank."""

    names: tuple[str, ...]
    scheme: str
    in_features: int | None = None
    out_features: int | None = None


class LinearPlan(msgspec.Struct, frozen=True, kw_only=True):
    """The NVFP4 linear layers of a launch, and what chooses their kernel."""

    layers: tuple[LinearLayers, ...] = ()
    fields: dict[str, Any] = {}
    """Configuration fields of linear layers: linear_backend, disabled_kernels, ..."""
    per_scheme: dict[str, str] = {}
    """Scheme -> the linear_backend that its layers get instead."""
    findings: tuple[Finding, ...] = ()
    missing: tuple[str, ...] = ()
    stated: bool = False
    """Whether the user states something of linear layers apart from the launch."""
