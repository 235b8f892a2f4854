"""Environment variables that the installed vLLM no longer reads."""

from __future__ import annotations

from compatcheck.host.model import Host, Problem
from compatcheck.host.problems.facts import named

_INSTEAD = {
    "VLLM_ATTENTION_BACKEND": "--attention-backend NAME",
    "VLLM_USE_TRTLLM_ATTENTION": "--attention-config.use_trtllm_attention true|false",
}


def check(host: Host) -> list[Problem]:
    """Report variables that are set, but that vllm/envs.py does not name."""
    vllm = named(host, "vllm")
    return [
        Problem(
            code="vllm-ignores-variable",
            severity="warning",
            who=vllm,
            message=f"{name} is set but has no effect: this release does not read it",
            required="a setting that this release reads",
            found=f"{name}={host.environment[name] if host.environment[name] is not None else '…'}",
            fix=f"use {_INSTEAD[name]}, and unset {name}" if name in _INSTEAD else f"unset {name}",
            source=f"vllm/envs.py@{host.version('vllm') or 'installed'}",
        )
        for name, read in host.vllm_reads.items()
        if read is False and name in host.environment
    ]
