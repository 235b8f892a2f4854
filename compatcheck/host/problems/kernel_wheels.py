"""Whether flashinfer-cubin, flashinfer-jit-cache and its providers belong to the installed FlashInfer."""

from __future__ import annotations

from typing import Literal, NamedTuple

from compatcheck.host.model import Host
from compatcheck.host.packages import PROVIDER_PREFIX
from compatcheck.host.problems.facts import (
    CUBIN_DIR_FIRST_SINCE,
    JIT_CACHE_EXACT_SINCE,
    MISMATCH_IGNORED_SINCE,
    UNKNOWN_BUILD,
    at_least,
    flashinfer_version,
    own_version,
)

Reaction = Literal["raises", "ignores", "uses"]
"""FlashInfer raises at import, ignores the wheel with a warning, or uses it in spite of the mismatch."""


class Mismatch(NamedTuple):
    """A kernel wheel of another version: name, version, the version it should have, and the reaction."""

    name: str
    found: str
    required: str
    reaction: Reaction


def check_disabled(host: Host) -> bool:
    """Return whether FLASHINFER_DISABLE_VERSION_CHECK is in effect: any non-empty value is, even 0."""
    name = "FLASHINFER_DISABLE_VERSION_CHECK"
    return name in host.environment and host.environment[name] != ""


def cubin_mismatch(host: Host) -> Mismatch | None:
    """Return how flashinfer-cubin differs; it must equal FlashInfer's version exactly."""
    wanted, found = flashinfer_version(host), own_version(host, "flashinfer-cubin")
    if wanted is None or found is None or wanted in (UNKNOWN_BUILD, found):
        return None
    if "FLASHINFER_CUBIN_DIR" in host.environment and at_least(wanted, CUBIN_DIR_FIRST_SINCE):
        return None
    return Mismatch("flashinfer-cubin", found, wanted, _reaction(host, wanted))


def jit_cache_mismatch(host: Host) -> Mismatch | None:
    """Return how flashinfer-jit-cache differs; a local part such as +cu130 is no difference."""
    wanted, found = flashinfer_version(host), own_version(host, "flashinfer-jit-cache")
    if wanted is None or found is None or wanted == UNKNOWN_BUILD or _matches(found, wanted):
        return None
    if not at_least(wanted, JIT_CACHE_EXACT_SINCE) and found.startswith(wanted):
        return Mismatch("flashinfer-jit-cache", found, wanted, "uses")
    return Mismatch("flashinfer-jit-cache", found, wanted, _reaction(host, wanted))


def provider_mismatches(host: Host) -> list[Mismatch]:
    """Return the flashinfer-jit-cache-smXX providers that do not equal the shim, local part included."""
    shim = own_version(host, "flashinfer-jit-cache")
    if shim is None:
        return []
    providers = [name for name in host.packages if name.startswith(PROVIDER_PREFIX)]
    reaction: Reaction = "uses" if check_disabled(host) else "ignores"
    return [
        Mismatch(name, found, shim, reaction)
        for name in providers
        if (found := host.version(name)) is not None and found != shim
    ]


def import_raises(host: Host) -> bool:
    """Return whether `import flashinfer` raises because a kernel wheel is of another version."""
    return any(
        mismatch is not None and mismatch.reaction == "raises"
        for mismatch in (cubin_mismatch(host), jit_cache_mismatch(host))
    )


def jit_cache_usable(host: Host) -> bool:
    """Return whether an installed jit-cache is one that FlashInfer will load."""
    if own_version(host, "flashinfer-jit-cache") is None:
        return False
    mismatch = jit_cache_mismatch(host)
    return mismatch is None or mismatch.reaction == "uses"


def _matches(found: str, wanted: str) -> bool:
    return found == wanted or found.startswith(f"{wanted}+")


def _reaction(host: Host, flashinfer: str) -> Reaction:
    if check_disabled(host):
        return "uses"
    return "ignores" if at_least(flashinfer, MISMATCH_IGNORED_SINCE) else "raises"
