"""FlashInfer releases that cannot be imported without a GPU once nvidia-cutlass-dsl is installed."""

from __future__ import annotations

from compatcheck.host.model import Host, Problem
from compatcheck.host.problems.facts import named


def check(host: Host) -> list[Problem]:
    """Report it where no usable GPU is here (a build machine, a CI runner, a driver that does not answer)."""
    if (
        "flashinfer-python" not in host.packages
        or host.driver.state == "not-queried"
        or host.usable_gpus()
        or host.flashinfer_import_queries_gpu is not True
        or "nvidia-cutlass-dsl" not in host.packages
    ):
        return []
    return [
        Problem(
            code="flashinfer-import-needs-gpu",
            severity="warning",
            who="`import flashinfer`",
            message="a module asks for the properties of GPU 0 while it is imported: AssertionError 'Torch "
            "not compiled "
            "with CUDA enabled', or RuntimeError for want of a driver; FlashInfer's own command line fails "
            "too",
            required="a usable GPU, or no nvidia-cutlass-dsl, or FlashInfer >= 0.7.1",
            found=f"no usable GPU, {named(host, 'flashinfer-python')}, {named(host, 'nvidia-cutlass-dsl')}",
            fix="pip install 'flashinfer-python>=0.7.1', or pip uninstall nvidia-cutlass-dsl on machines without a GPU",
            source="flashinfer/gdn_kernels/gdn_decode_bf16_state.py:NUM_SMS@0.6.15 (gone in 0.7.1)",
        )
    ]
