"""The tables that a region can hold, by name. A new one is a function and an entry of the list at the end."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from compatcheck.docs import markdown, region_linear
from compatcheck.docs.axes import KINDS, SHAPES
from compatcheck.docs.environment import DocsError
from compatcheck.docs.states import MARKS, Said, best
from compatcheck.matrix.sm import find_gpu, parse_sm

if TYPE_CHECKING:
    from compatcheck.docs.site import Site


def backends(
    site: Site,
    sm: str = "",
    kv: str = "",
    release: str = "",
    flashinfer: str = "",
    kind: str = "standard",
    head: str = "",
) -> str:
    """Backends by SM: the answer for one KV-cache dtype (default auto), or the best over all with kv=any."""
    grid = site.grid
    at = _one_of("release", release or grid.newest, grid.releases)
    asked = _one_of("kind", kind, [k.id for k in KINDS])
    fi = _one_of("flashinfer", flashinfer, grid.flashinfer) if flashinfer else None
    sms = _sms(site, sm)
    shapes = [s.id for s in SHAPES[asked]]
    sizes = [_one_of("head", head, shapes)] if head else shapes
    accepted = grid.kv_of(at)
    dtypes = accepted if kv == "any" else [_one_of("kv", kv or "auto", accepted)]

    def mark(backend: str, one: str) -> str:
        said = [site.states.of(at, backend, one, dtype, size, fi) for dtype in dtypes for size in sizes]
        return MARKS[best(s.state for s in said) or "refused"]

    kinds = [k for k in KINDS if k.id == asked]
    names = [name for k in kinds for name in grid.backends(at, k)]
    rows = [[markdown.code(name), *[mark(name, one) for one in sms]] for name in names]
    what = "every KV-cache dtype" if kv == "any" else f"KV-cache dtype {markdown.code(dtypes[0])}"
    sized = f"head size {head}" if head else "the best over the sizes asked"
    version = fi or site.engine.releases[at].flashinfer
    caption = f"{site.engine.title} {at}, FlashInfer {version}, {what}, {sized}:"
    return f"{caption}\n\n{markdown.table(['Backend', *sms], rows)}"


def cell(
    site: Site,
    backend: str = "",
    sm: str = "",
    kv: str = "auto",
    head: str = "128",
    release: str = "",
    flashinfer: str = "",
) -> str:
    """One cell in a sentence, with the codes behind it."""
    grid = site.grid
    at = _one_of("release", release or grid.newest, grid.releases)
    name = _one_of("backend", backend.upper(), grid.backends(at))
    sms = _sms(site, sm)
    if not sm or len(sms) != 1:
        raise DocsError(f"sm={sm or '(nothing)'} has to be one SM or GPU; there are: {', '.join(sms)}")
    (one,) = sms
    fi = _one_of("flashinfer", flashinfer, grid.flashinfer) if flashinfer else None
    dtype = _one_of("kv", kv, grid.kv_of(at))
    size = _one_of("head", head, [s.id for s in SHAPES[grid.kind(name).id]])
    said = site.states.of(at, name, one, dtype, size, fi)
    version = fi or site.engine.releases[at].flashinfer
    subject = f"{markdown.code(name)} with KV-cache dtype {markdown.code(dtype)} and head size {size} on SM {one}"
    return f"{subject}, {site.engine.title} {at}, FlashInfer {version}: {_sentence(said)}."


def kv_dtypes(site: Site, sm: str = "", release: str = "") -> str:
    """KV-cache dtypes by SM: the best that any backend offers."""
    grid = site.grid
    at = _one_of("release", release or grid.newest, grid.releases)
    sms = _sms(site, sm)
    rows = []
    for dtype in grid.kv_of(at):
        marks = [
            best(
                site.states.of(at, name, one, dtype, shape.id).state
                for name in grid.backends(at)
                for shape in SHAPES[grid.kind(name).id]
            )
            for one in sms
        ]
        rows.append([markdown.code(dtype), *[MARKS[mark or "refused"] for mark in marks]])
    return f"{site.engine.title} {at}:\n\n{markdown.table(['KV-cache dtype', *sms], rows)}"


def linear(site: Site, sm: str = "", layer: str = "", release: str = "", flashinfer: str = "") -> str:
    """NVFP4 linear layers: the kernel that is picked on each SM, for both schemes or one."""
    return region_linear.picked(site, _sms(site, sm), *_versions(site, release, flashinfer), layer)


def linear_kernels(site: Site, sm: str = "", layer: str = "", release: str = "", flashinfer: str = "") -> str:
    """NVFP4 linear kernels by SM, each asked for, for one scheme (default w4a4)."""
    return region_linear.kernels(site, _sms(site, sm), *_versions(site, release, flashinfer), layer)


def rule(site: Site, code: str = "") -> str:
    """One rule: what, why, fix."""
    known = site.catalog
    entry = known[_one_of("code", code, list(known))]
    rows = [
        ["Effect", f"{entry.effect}, by {entry.refuser}, at {entry.bites}"],
        ["Versions", markdown.codes(entry.versions) or "every version in the matrix"],
        ["Why", markdown.text(entry.why or "-")],
        ["Fix", markdown.text(entry.fix or "-")],
    ]
    return f"{markdown.code(entry.code)}: {markdown.text(entry.title)}\n\n{markdown.table(['Fact', 'Value'], rows)}"


def releases(site: Site) -> str:
    """Engine releases and what they pin."""
    pins = site.engine.releases
    rows = [[v, pins[v].flashinfer, pins[v].torch, pins[v].cuda or "-"] for v in reversed(site.grid.releases)]
    return markdown.table([site.engine.title, "FlashInfer", "PyTorch", "CUDA"], rows)


def _versions(site: Site, release: str, flashinfer: str) -> tuple[str, str | None]:
    at = _one_of("release", release or site.grid.newest, site.grid.releases)
    return at, _one_of("flashinfer", flashinfer, site.grid.flashinfer) if flashinfer else None


def _sms(site: Site, text: str) -> list[str]:
    """Return the SMs of 'all', a family, a list, a compute capability or a GPU's name."""
    if text in ("", "all"):
        return site.grid.sms
    families = site.families()
    gpus = {sm: entry.gpus for sm, entry in site.matrix.sms.items()}
    found: list[str] = []
    for part in (p.strip() for p in text.split(",")):
        if part in families:
            found += families[part]
            continue
        sm = parse_sm(part) or find_gpu(part, gpus)
        if sm not in gpus:
            raise DocsError(
                f"sm: {part!r} is neither a compute capability, a family nor a GPU; there are: {', '.join(gpus)}"
            )
        found.append(sm)
    return list(dict.fromkeys(found))


def _one_of(name: str, value: str, known: Iterable[str]) -> str:
    choices = list(known)
    if value in choices:
        return value
    near = difflib.get_close_matches(value, choices, n=1)
    hint = f"did you mean {near[0]}?" if near else f"there are: {_some(choices)}"
    raise DocsError(f"{name}={value or '(nothing)'} is not known; {hint}")


def _some(choices: list[str]) -> str:
    shown = choices if len(choices) <= _LISTED else choices[-_LISTED // 2 :]
    more = len(choices) - len(shown)
    return ", ".join(shown) + (f" and {more} more" if more else "")


_LISTED = 24
"""How many choices are listed in full; of more, the last ones are, which are the newest releases."""


def _sentence(said: Said) -> str:
    mark = "not known" if said.state == "unknown" else MARKS[said.state]
    behind = markdown.codes(said.codes) or (markdown.text(said.lacking) if said.lacking else "")
    return f"{mark} ({behind})" if behind else mark


REGIONS: dict[str, Callable[..., str]] = {
    "backends": backends,
    "cell": cell,
    "kv-dtypes": kv_dtypes,
    "linear": linear,
    "linear-kernels": linear_kernels,
    "releases": releases,
    "rule": rule,
}
"""Name -> what makes it; its parameters are the region's arguments."""
