"""Kernels by FlashInfer version: where each runs, what it takes, how it refuses, what was proved."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from compatcheck.docs.pages import Page
from compatcheck.docs.states import ranges
from compatcheck.resolve.describe import describe_grants

if TYPE_CHECKING:
    from collections.abc import Iterator

    from compatcheck.docs.site import Site
    from compatcheck.matrix.model import Grants, Kernel


def pages(site: Site) -> Iterator[Page]:
    """Yield kernels.md."""
    yield Page(
        "kernels.md",
        "kernels.md.j2",
        {
            "libraries": site.matrix.libraries,
            "versions": site.grid.flashinfer,
            "kernels": [_kernel(site, name, kernel) for name, kernel in site.matrix.kernels.items()],
        },
    )


def stated(grants: Grants) -> str | None:
    """Return grants as text; None where the matrix states none, which is not the same as 'any'."""
    return describe_grants(grants) if grants else None


def _kernel(site: Site, name: str, kernel: Kernel) -> dict[str, Any]:
    program = site.grid.resolver.kernel(name)
    present = {version: program.present(version) for version in site.grid.flashinfer}
    ours = kernel.library == "flashinfer"
    return {
        "name": name,
        "facts": kernel,
        "present": ranges([v for v, p in present.items() if p], site.grid.flashinfer) if ours else None,
        "uncertain": kernel.uncertain,
        "kv_dtypes": stated(kernel.kv_dtypes),
        "head_sizes": stated(kernel.head_sizes),
        "page_sizes": stated(kernel.page_sizes),
        "routes": [id_ for id_, r in site.engine.routes.items() if name in (r.kv_write, r.prefill, r.decode)],
        "proof": site.kernel_proof(name),
    }
