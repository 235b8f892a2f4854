"""Both distributions that call themselves pynvml."""

from __future__ import annotations

from compatcheck.host.model import Host, Problem
from compatcheck.host.problems.facts import before, named

_SOURCE = "vllm/utils/import_utils.py:import_pynvml@0.33.0"


def check(host: Host) -> list[Problem]:
    """Report pynvml beside nvidia-ml-py: before 12.0 it shadows the official module, then it only warns."""
    if "pynvml" not in host.packages or "nvidia-ml-py" not in host.packages:
        return []
    version = host.version("pynvml")
    shadows = version is None or before(version, "12.0")
    return [
        Problem(
            code="pynvml-and-nvidia-ml-py",
            severity="warning" if shadows else "info",
            who="`import pynvml`",
            message="pynvml before 12.0 installs a package of the same name that is imported instead of "
            "the official module"
            if shadows
            else "pynvml is a deprecated wrapper around nvidia-ml-py; torch warns about it",
            required="nvidia-ml-py alone",
            found=f"{named(host, 'pynvml')} and {named(host, 'nvidia-ml-py')}",
            fix="pip uninstall pynvml && pip install --force-reinstall nvidia-ml-py",
            source=_SOURCE if shadows else "https://github.com/mlco2/codecarbon/issues/933",
        )
    ]
