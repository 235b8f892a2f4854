"""The NVFP4 slot-mapping helpers are not in the installed FlashInfer."""

from __future__ import annotations

from compatcheck.host.model import Host, Problem
from compatcheck.host.problems.facts import VLLM_SLOT_MAPPING_SINCE, at_least, named
from compatcheck.host.symbols import PAGED_DEQUANTIZE, SLOT_MAPPING_APPEND

_FAMILIES = ("8.", "9.", "12.")
_SOURCE = (
    "vllm/v1/attention/backends/flashinfer.py:_nvfp4_kv_on_fa2@0.32.0; flashinfer/page.py@0.6.14 and "
    "@0.6.15; "
    "https://github.com/vllm-project/vllm/issues/47684"
)


def check(host: Host) -> list[Problem]:
    """Report missing helpers: an error where vLLM imports the writer, else worth knowing."""
    missing = [name for name in (SLOT_MAPPING_APPEND, PAGED_DEQUANTIZE) if host.importable(name) is False]
    if "flashinfer-python" not in host.packages or not missing:
        return []
    imported = host.vllm_imports.get(f"flashinfer:{SLOT_MAPPING_APPEND}") is False
    wanted = imported or (
        SLOT_MAPPING_APPEND in missing
        and not host.vllm_imports
        and at_least(host.version("vllm"), VLLM_SLOT_MAPPING_SINCE)
    )
    if not wanted and "vllm" in host.packages:
        return []  # before 0.32.0 vLLM has no slot-mapping route, so nothing is missed
    sms = [sm for sm in host.sms() if sm.startswith(_FAMILIES)]
    where = f"SM {', '.join(sms)}" if sms else "SM 8.x, 9.x and 12.x"
    message = (
        f"the FLASHINFER backend cannot be imported at all, and --kv-cache-dtype nvfp4 on {where} has no writer"
        if wanted
        else f"an NVFP4 KV cache on {where} has no writer (or no reader that dequantises pages)"
    )
    return [
        Problem(
            code="nvfp4-slot-mapping-helpers-missing",
            severity="error" if wanted else "info",
            who=f"{named(host, 'vllm')}, on import of its FLASHINFER backend" if wanted else "FlashInfer",
            message=message,
            required=f"{' and '.join(missing)}, in FlashInfer releases since 0.6.15",
            found=f"{named(host, 'flashinfer-python')}, which does not export "
            + ("it" if len(missing) == 1 else "them"),
            fix="pip install 'flashinfer-python" + (_pin(host) or ">=0.6.15") + "'",
            source=_SOURCE,
        )
    ]


def _pin(host: Host) -> str | None:
    vllm = host.packages.get("vllm")
    return vllm.requires.get("flashinfer-python") if vllm else None
