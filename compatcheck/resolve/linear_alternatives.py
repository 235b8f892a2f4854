"""What may be changed about a linear layer's configuration: the kernel that is asked for, and the releases."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from compatcheck.matrix.versions import parse
from compatcheck.resolve.configuration import Configuration
from compatcheck.resolve.normalise import normalise

if TYPE_CHECKING:
    from compatcheck.resolve.resolver import Resolver

_FORCING = ("linear_backend", "nvfp4_gemm_backend", "use_fbgemm", "use_nvfp4_ct_emulations", "disabled_kernels")
Change = tuple[tuple[str, Any], ...]


def linear_changes(resolver: Resolver, given: Configuration) -> list[Change]:
    """Return single changes, the least intrusive first: no forced kernel, another one, newer releases of both.

    Batch invariance is kept: it is asked for on purpose.
    """
    normal = normalise(resolver.matrix, given)
    facts = normal.facts
    engine = resolver.engine(str(facts.engine), normal.release)
    program = resolver.linear.program(str(facts.engine), normal.release)
    forced = [name for name in _FORCING if getattr(facts, name)]
    changes: list[Change] = [((name, None),) for name in forced]
    changes += [
        (("linear_backend", name),)
        for name, kernels in program.options.items()
        if kernels and name != facts.linear_backend
    ]
    releases = sorted(engine.engine.releases, key=parse)
    newer = [r for r in releases if parse(r) > parse(normal.release)]
    changes += [(("engine_version", r), ("flashinfer_version", None)) for r in newer]
    if given.flashinfer_version is not None and "flashinfer" in resolver.matrix.libraries:
        at = parse(str(facts.flashinfer_version))
        known = resolver.matrix.libraries["flashinfer"].releases
        changes += [(("flashinfer_version", v),) for v in known if parse(v) > at]
    return changes
