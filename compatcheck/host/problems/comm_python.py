"""FlashInfer releases whose `flashinfer.comm` cannot be imported with an older Python."""

from __future__ import annotations

from compatcheck.host.model import Host, Problem
from compatcheck.host.problems.facts import at_least, before, flashinfer_version, named, version_of
from compatcheck.matrix.versions import parse


def check(host: Host) -> list[Problem]:
    """Report 0.6.16 to 0.6.16.post3, which vLLM 0.27 and 0.28 pin, with Python 3.10 or 3.11."""
    installed, python = flashinfer_version(host), version_of(host.system.python)
    if not at_least(installed, "0.6.16") or not before(installed, "0.6.16.post4"):
        return []
    if python is None or python >= parse("3.12"):
        return []
    return [
        Problem(
            code="flashinfer-comm-needs-python-3.12",
            severity="warning",
            who="`import flashinfer.comm`, which vLLM does for its all-reduce, from two GPUs on",
            message="the import fails with TypeError \"type 'array.array' is not subscriptable\"",
            required="Python 3.12 or newer, or FlashInfer >= 0.6.16.post4",
            found=f"{named(host, 'flashinfer-python')}, Python {host.system.python}",
            fix="pip install 'flashinfer-python==0.6.16.post4', or use Python 3.12",
            source="flashinfer/comm/fd_exchange.py:_fd_ancillary@0.6.16.post3 (mended in 0.6.16.post4); "
            "https://github.com/verl-project/verl-omni/pull/506",
        )
    ]
