"""What a release changes for some model families before any backend is asked: cache dtype, backend, FA version."""

from __future__ import annotations

from typing import Any

from compatcheck.matrix.model import Engine, Matrix
from compatcheck.resolve.backend import in_release
from compatcheck.resolve.conditions import Compiler
from compatcheck.resolve.configuration import FIELDS, Configuration
from compatcheck.resolve.verdict import Assumption


def set_for_model(
    matrix: Matrix, engine: Engine, release: str, values: dict[str, Any], assumed: list[Assumption]
) -> None:
    """Change `values` as the release does for their `model_type`, one setting after the other, and say so."""
    family = values.get("model_type")
    for setting in engine.model_settings if family is not None else ():
        if family not in setting.types or not in_release(setting.since or "0", setting.until, release):
            continue
        condition = Compiler(matrix.sms, frozenset(FIELDS)).condition(setting.when)
        if condition.test(Configuration(**values)) is not True:
            continue
        for field, value in setting.set.items():
            values[field] = value
            ground = f"what {engine.title} {release} sets for {family}"
            assumed[:] = [item for item in assumed if item.field != field]
            assumed.append(Assumption(field, value, ground))


def settled_types(matrix: Matrix) -> frozenset[str]:
    """Return the model types for which some release changes something."""
    return frozenset(
        family for engine in matrix.engines.values() for setting in engine.model_settings for family in setting.types
    )
