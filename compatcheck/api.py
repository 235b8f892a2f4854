"""The Python API: `check` answers, `validate` raises."""

from __future__ import annotations

import difflib
from functools import lru_cache
from pathlib import Path
from typing import Any

import msgspec

from compatcheck.matrix.load import LoadedMatrix, load
from compatcheck.resolve.configuration import FIELDS, Configuration
from compatcheck.resolve.normalise import ConfigurationError
from compatcheck.resolve.verdict import Finding, Verdict


class CompatibilityError(ValueError):
    """A configuration that does not work; `findings` says why, `verdict` is the whole answer."""

    def __init__(self, verdict: Verdict) -> None:
        reasons = [f"{f.message}" + (f" {f.fix}" if f.fix else "") for f in verdict.findings if f.effect != "note"]
        if verdict.verdict == "unknown":
            reasons.append(f"cannot be decided without: {', '.join(verdict.missing) or verdict.untested}")
        super().__init__(f"{verdict.verdict}: " + " | ".join(reasons))
        self.verdict = verdict
        self.findings: tuple[Finding, ...] = verdict.findings

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.verdict,)


@lru_cache(maxsize=8)
def _loaded(matrix: Path | None, overlays: tuple[Path, ...]) -> LoadedMatrix:
    return load(matrix, overlays)


def configuration(fields: dict[str, Any]) -> Configuration:
    """Return a configuration of these fields.

    Raises `TypeError` for an unknown one, naming the nearest, and `ConfigurationError` for a value of the wrong type.
    """
    for name in fields:
        if name not in FIELDS:
            near = difflib.get_close_matches(name, FIELDS, n=1)
            hint = f"; did you mean {near[0]}?" if near else f"; fields are: {', '.join(FIELDS)}"
            raise TypeError(f"unknown configuration field {name!r}{hint}")
    try:
        return msgspec.convert(fields, Configuration)
    except msgspec.ValidationError as error:
        text, _, place = str(error).partition(" - at `$.")
        raise ConfigurationError([(place.rstrip("`") or "configuration", text)]) from error


def check(
    *,
    matrix: str | Path | None = None,
    overlays: tuple[str | Path, ...] = (),
    alternatives: bool = True,
    **fields: Any,
) -> Verdict:
    """Return the verdict for a configuration, its fields named as in `Configuration`.

    Nothing is taken from this host: what is not given is assumed, and `Verdict.assumed` says what. Raises `TypeError`
    for an unknown field, `ConfigurationError` (a `ValueError`) for a value that cannot be judged and `MatrixError` (a
    `ValueError`) for a matrix that cannot be used.

    >>> check(sm="12.0", engine_version="0.25.1", backend="FLASHINFER", kv_cache_dtype="nvfp4", head_size=128).verdict
    'unsupported'
    """
    loaded = _loaded(Path(matrix) if matrix else None, tuple(Path(path) for path in overlays))
    verdict: Verdict = loaded.resolver.resolve(configuration(fields), alternatives=alternatives)
    return verdict


def validate(
    *,
    allow_degraded: bool = False,
    allow_unknown: bool = False,
    matrix: str | Path | None = None,
    overlays: tuple[str | Path, ...] = (),
    **fields: Any,
) -> Verdict:
    """Return the verdict where the configuration works; raise `CompatibilityError` with the findings where it does not.

    Degraded and unknown raise too, unless allowed.
    """
    verdict = check(matrix=matrix, overlays=overlays, **fields)
    accepted = {"supported"} | ({"degraded"} if allow_degraded else set()) | ({"unknown"} if allow_unknown else set())
    if verdict.verdict not in accepted:
        raise CompatibilityError(verdict)
    return verdict
