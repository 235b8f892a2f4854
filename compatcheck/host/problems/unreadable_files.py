"""Source files that could not be parsed, so that some answers are missing."""

from __future__ import annotations

from compatcheck.host.model import Host, Problem


def check(host: Host) -> list[Problem]:
    """Report files of FlashInfer or vLLM that are damaged, or written for a newer Python than this."""
    if not host.unreadable_files:
        return []
    return [
        Problem(
            code="source-files-unreadable",
            severity="warning",
            who="compatcheck",
            message="it cannot tell which functions these files define; Python may fail to import them too",
            required="Python source that this Python can parse",
            found="; ".join(host.unreadable_files),
            fix="reinstall the package, or run compatcheck with the Python that runs vLLM",
            source="ast.parse (Python standard library)",
        )
    ]
