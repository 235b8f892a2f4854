"""The pages, one module each, whose `pages` yields those that it is responsible for."""

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


def without_answers() -> list[str]:
    """Return the names of those makers that need no answers of the grid: there is time for them while it is asked."""
    from compatcheck.docs.pages import kernels, rules, selection

    return [module.__name__ for module in (rules, selection, kernels)]


def makers(site: Site) -> dict[str, Callable[[Site], Iterator[Page]]]:
    """Return what makes the pages, by names of its own, that first which takes longest."""
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

    longest, others = (rules, selection, changes, nvfp4_linear, explorer), (kernels, nvfp4, kv_dtypes, index, evidence)
    return {
        **{module.__name__: module.pages for module in longest},
        **attention_backends.makers(site),
        **{module.__name__: module.pages for module in others},
    }
