"""Names that vLLM's FlashInfer backend imports and the installed FlashInfer does not have."""

from __future__ import annotations

from compatcheck.host.model import Host, Problem
from compatcheck.host.problems.facts import named
from compatcheck.host.symbols import SLOT_MAPPING_APPEND


def check(host: Host) -> list[Problem]:
    """Report missing names other than the slot-mapping writer, which `nvfp4_helpers` reports."""
    missing = [
        name.replace(":", ".")
        for name, there in host.vllm_imports.items()
        if there is False and name != f"flashinfer:{SLOT_MAPPING_APPEND}"
    ]
    if not missing:
        return []
    vllm = host.packages.get("vllm")
    pin = vllm.requires.get("flashinfer-python", "") if vllm else ""
    return [
        Problem(
            code="vllm-imports-missing-from-flashinfer",
            severity="error",
            who=f"{named(host, 'vllm')}, on import of its FLASHINFER backend",
            message="the import fails with ImportError, so FLASHINFER is no candidate on any GPU",
            required=", ".join(missing),
            found=f"{named(host, 'flashinfer-python')}, whose files do not define "
            + ("it" if len(missing) == 1 else "them"),
            fix=f"pip install 'flashinfer-python{pin}'",
            source=f"vllm/v1/attention/backends/flashinfer.py@{host.version('vllm') or 'installed'}",
        )
    ]
