"""The pages, one module each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from compatcheck.docs.site import Site


class Page(NamedTuple):
    """A page to render: its path below the output folder, its template, what the template may use."""

    path: str
    template: str
    variables: dict[str, Any]


def registry() -> list[Callable[[Site], Iterator[Page]]]:
    """Return the page makers. Each yields the pages that it is responsible for.

    Those that need no answers of the grid stand first, while these are asked for. The order of the others decides the
    numbers in the explorer's data, which therefore stands last.
    """
    from compatcheck.docs.pages import (
        attention_backends,
        changes,
        evidence,
        explorer,
        index,
        kernels,
        kv_dtypes,
        nvfp4,
        nvfp4_linear,
        rules,
        selection,
    )

    return [
        index.pages,
        selection.pages,
        kernels.pages,
        rules.pages,
        evidence.pages,
        nvfp4_linear.pages,
        attention_backends.pages,
        kv_dtypes.pages,
        nvfp4.pages,
        changes.pages,
        explorer.pages,
    ]
