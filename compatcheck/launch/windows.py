"""Models whose layers have different windows, on FLASHINFER: whether the release plans them together or apart.

FLASHINFER's metadata builder serves one group of layers, and raises at the first batch that trtllm attention does not
take where their windows differ. The hybrid KV-cache manager, on by default, puts layers with and without a window into
groups of their own, so that they never meet; without it all layers are one group.

Sources: vllm/v1/attention/backends/flashinfer.py:FlashInferMetadataBuilder.build@0.33.0,
vllm/v1/core/kv_cache_planning.py:get_kv_cache_groups@0.33.0, vllm/config/vllm.py:VllmConfig.__post_init__@0.33.0 (with
a KV connector since 0.23.0: only if the connector says that it can; before, off), vllm/utils/flashinfer.py:
use_trtllm_attention@0.33.0, vllm/model_executor/warmup/kernel_warmup.py:kernel_warmup@0.18.1 (a batch with a prefill
and decodes while the engine starts, where all layers are FLASHINFER's).
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from compatcheck.launch import findings
from compatcheck.matrix.versions import parse
from compatcheck.resolve.configuration import Configuration
from compatcheck.resolve.verdict import Finding, FindingSource

CONNECTOR_DECIDES_SINCE = "0.23.0"
EVENTS_SWITCH_OFF_UNTIL = "0.20.0"
"""First release in which KV events leave the manager on (vllm/config/vllm.py, compared over the wheels)."""
_SOURCE = FindingSource(ref="vllm/v1/attention/backends/flashinfer.py:FlashInferMetadataBuilder.build@0.33.0")


class WindowAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """What a whole model's windows mean: a finding to add, and what is missing to tell."""

    finding: Finding | None = None
    missing: tuple[str, ...] = ()


def judge_windows(
    layers: Sequence[Configuration], used: Sequence[str | None], hybrid: bool | None, connector: str | None
) -> WindowAnswer:
    """Return what it means that these kinds of layers are in one model.

    `used` is the backend of each; `hybrid`: whether the hybrid KV-cache manager is on, None where a connector decides.
    """
    on_flashinfer = [facts for facts, backend in zip(layers, used, strict=True) if backend == "FLASHINFER"]
    if len({facts.sliding_window or None for facts in on_flashinfer}) < 2:
        return WindowAnswer()
    if hybrid:
        return WindowAnswer(finding=_apart())
    if all(_always_trtllm(facts) for facts in on_flashinfer):
        return WindowAnswer()
    if hybrid is None:
        return WindowAnswer(missing=(f"whether {connector or 'the KV connector'} takes the hybrid KV-cache manager",))
    return WindowAnswer(finding=_together(connector))


def hybrid_manager(stated_off: bool | None, connector: str | None, release: str, *, events: bool) -> bool | None:
    """Return whether the hybrid KV-cache manager is on; None where the connector's class decides.

    `events`: --kv-events-config is given.
    """
    if stated_off is not None:
        return not stated_off
    if events and parse(release) < parse(EVENTS_SWITCH_OFF_UNTIL):
        return False
    if connector is None:
        return True
    return None if parse(release) >= parse(CONNECTOR_DECIDES_SINCE) else False


def _always_trtllm(facts: Configuration) -> bool:
    """Return whether no batch goes to FlashInfer's native kernels."""
    if facts.sm not in ("10.0", "10.3") or facts.use_dcp or facts.use_trtllm_attention is False:
        return False
    narrow = str(facts.kv_cache_dtype).startswith(("fp8", "nvfp4"))
    return bool(facts.has_sink) or narrow or facts.use_trtllm_attention is True


def _apart() -> Finding:
    return findings.make(
        "launch-windows-apart",
        "Layers with and without a window are planned apart",
        "The model mixes windows. FLASHINFER takes that while the hybrid KV-cache manager is on, as it is by default: "
        "each kind of layers is a group of its own.",
        effect="note",
        fix="Do not set --disable-hybrid-kv-cache-manager.",
        source=_SOURCE,
    )


def _together(connector: str | None) -> Finding:
    cause = f"the KV connector {connector} switches it off" if connector else "an option switches it off"
    return findings.make(
        "launch-windows-together",
        "FLASHINFER refuses layers with different windows in one group",
        f"The model mixes windows, and without the hybrid KV-cache manager ({cause}) all its layers are one group: "
        "FLASHINFER raises at the first batch that trtllm attention does not take, which is one of its warm-up.",
        effect="unsupported",
        bites="init",
        words="Window left is not the same for all layers. One potential fix is to set disable_sliding_window=True",
        exception="ValueError",
        fix="Leave the hybrid KV-cache manager on, or use FLASH_ATTN or TRITON_ATTN.",
        source=_SOURCE,
    )
