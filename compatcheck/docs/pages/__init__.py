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


def without_answers() -> dict[str, Callable[[Site], Iterator[Page]]]:
    """Return the makers of pages that need no answers of the grid: they are made while these are asked for."""
    from compatcheck.docs.pages import evidence, index, kernels, nvfp4_linear, rules, selection

    modules = (index, selection, kernels, rules, evidence, nvfp4_linear)
    return {module.__name__: module.pages for module in modules}


def with_answers(site: Site) -> dict[str, Callable[[Site], Iterator[Page]]]:
    """Return the makers of the other pages, those first that take longest."""
    from compatcheck.docs.pages import attention_backends, changes, explorer, kv_dtypes, nvfp4

    first, *others = ({module.__name__: module.pages} for module in (changes, explorer, nvfp4, kv_dtypes))
    makers = [first, attention_backends.makers(site), *others]
    return {name: maker for some in makers for name, maker in some.items()}
