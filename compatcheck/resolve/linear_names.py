"""Names in a configuration of a linear layer: how they are spelled, and whether the engine knows them."""

from __future__ import annotations

from typing import Any

from compatcheck.matrix.model import Engine
from compatcheck.resolve.configuration import LINEAR_FIELDS, LINEAR_SCHEMES

_SCHEME_SPELLINGS = {
    "w4a4": "nvfp4_w4a4",
    "nvfp4": "nvfp4_w4a4",
    "w4a16": "nvfp4_w4a16",
    "nvfp4a16": "nvfp4_w4a16",
    "w4a16_nvfp4": "nvfp4_w4a16",
}
"""Other names for a layer's scheme, among them ModelOpt's quant_algo in lower case."""


def spell_linear(values: dict[str, Any]) -> None:
    """Spell the names of a linear configuration as the matrix does; `--linear-backend auto` is the same as none."""
    if "linear" in values:
        name = str(values["linear"]).lower().replace("-", "_")
        values["linear"] = _SCHEME_SPELLINGS.get(name, name)
    if "linear_backend" in values:
        values["linear_backend"] = str(values["linear_backend"]).lower().replace("-", "_")
        if values["linear_backend"] == "auto":
            del values["linear_backend"]
    if "nvfp4_gemm_backend" in values:
        values["nvfp4_gemm_backend"] = str(values["nvfp4_gemm_backend"]).lower().replace("_", "-")


def check_linear_names(engine: Engine, values: dict[str, Any]) -> list[tuple[str, str]]:
    """Return (field, what is wrong) for each name that no release of the engine knows, or that has no meaning here."""
    if "linear" not in values:
        given = sorted(LINEAR_FIELDS & values.keys())
        return [
            (name, "means something only for a linear layer; give linear too, such as nvfp4_w4a4") for name in given
        ]
    problems: list[tuple[str, str]] = []
    _one_of("linear", values["linear"], list(LINEAR_SCHEMES), problems)
    if "backend" in values:
        problems.append(
            ("backend", "names an attention backend; a linear layer's kernel is asked for by linear_backend")
        )
    linear = engine.linear
    if linear is None:
        return [*problems, ("linear", f"the matrix says nothing of {engine.title}'s linear layers")]
    if "linear_backend" in values:
        _one_of("linear_backend", values["linear_backend"], list(linear.options), problems)
    if "nvfp4_gemm_backend" in values:
        known = [kernel.env for kernel in linear.kernels.values() if kernel.env]
        _one_of("nvfp4_gemm_backend", values["nvfp4_gemm_backend"], known, problems)
    for name in values.get("disabled_kernels", ()):
        _one_of("disabled_kernels", name, list(linear.kernels), problems)
    return problems


def _one_of(field: str, value: str, known: list[str], problems: list[tuple[str, str]]) -> None:
    if value not in known:
        import difflib

        close = difflib.get_close_matches(value, known, n=1, cutoff=0.6)
        hint = f" Did you mean {close[0]}?" if close else ""
        problems.append((field, f"{value!r} is not known.{hint} Known: {', '.join(known)}"))
