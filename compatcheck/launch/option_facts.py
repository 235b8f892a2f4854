"""What the options of a launch say: configuration fields, and what else the model's facts depend on."""

from __future__ import annotations

from typing import Any

from compatcheck.launch.engine_release import EngineRelease
from compatcheck.launch.flag_table import FlagTable
from compatcheck.launch.model import Placed, Report, Setting


class OptionFacts:
    """What was read so far; one is filled for each launch."""

    def __init__(self, flags: FlagTable, release: EngineRelease) -> None:
        self.flags = flags
        self.release = release
        self.fields: dict[str, Any] = {}
        self.places: dict[str, tuple[int, int]] = {}
        self.origins: dict[str, tuple[str, int, int]] = {}
        """Fields whose place is in another file than the launch."""
        self.tensor_parallel = 1
        self.hybrid_off: bool | None = None
        """What the launch says of the hybrid KV-cache manager."""
        self.connector: str | None = None
        self.kv_events = False
        self.eager = False
        self.decode_context_parallel = 1
        self.prefill_context_parallel = 1
        self.text_only = False
        self.mm_limits: dict[str, Any] = {}
        self.sliding_window_disabled = False
        self.skip_layers: tuple[str, ...] = ()
        self.backend_per_kind: dict[str, str] = {}
        self.linear: dict[str, Any] = {}
        """Configuration fields of linear layers."""
        self.linear_per_scheme: dict[str, str] = {}
        """Scheme of a linear layer -> its own linear_backend."""
        self.hf_overrides: dict[str, Any] = {}
        self.speculative: dict[str, Any] = {}
        self.hf_config_path: str | None = None
        self.on: set[str] = set()
        """Options that are given, and not as off."""
        self.open: set[str] = set()
        """Options that decide, with a value that only the shell knows."""
        self.findings: list[Placed] = []
        self.reports: list[Report] = []

    def set(self, field: str, value: Any, setting: Setting) -> None:
        """Note a field and the place that decided it."""
        self.fields[field] = value
        self.places[field] = (setting.line, setting.column)
        self.origins.pop(field, None)
        if setting.origin is not None:
            self.origins[field] = setting.origin

    def report(self, setting: Setting, status: Any, why: str, missing: str | None = None) -> None:
        """Note what became of an option."""
        self.reports.append(
            Report(
                name=setting.written,
                status=status,
                why=why,
                line=setting.line,
                column=setting.column,
                missing=missing,
            )
        )
