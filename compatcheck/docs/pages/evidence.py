"""The evidence index: every published run, and what it found."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compatcheck.docs.evidence import SAID
from compatcheck.docs.pages import Page

if TYPE_CHECKING:
    from collections.abc import Iterator

    from compatcheck.docs.site import Site


def pages(site: Site) -> Iterator[Page]:
    """Yield evidence.md."""
    kernels = site.matrix.kernels
    proved = {name: site.kernel_proof(name) for name in kernels}
    yield Page(
        "evidence.md",
        "evidence.md.j2",
        {
            "proofs": site.evidence,
            "said": SAID,
            "proved": {name: lines for name, lines in proved.items() if lines},
            "unproved": [name for name, lines in proved.items() if not lines],
            "codes": set(site.catalog),
        },
    )
