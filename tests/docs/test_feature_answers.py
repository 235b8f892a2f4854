"""What is said of a feature is what the resolver says of a configuration that asks for it."""

from __future__ import annotations

from collections import Counter

import msgspec
import pytest

from compatcheck.docs.asking import Asking
from compatcheck.docs.axes import SHAPES
from compatcheck.docs.features import QUESTIONS
from compatcheck.docs.grid import Grid
from compatcheck.docs.reasons import without_values
from compatcheck.matrix.load import LoadedMatrix


def differing(grid: Grid) -> tuple[list[tuple[str, str, str, object]], Counter[str]]:
    """Backend, SM, field and value of each answer that is not the resolver's; how often which verdict was given."""
    wrong: list[tuple[str, str, str, object]] = []
    given: Counter[str] = Counter()
    for backend in grid.backends(grid.newest):
        asking = Asking(grid, backend)
        for sm in grid.sms:
            featured = asking.featured(sm)
            if featured is None:
                continue
            shape = SHAPES[grid.kind(backend).id][featured.shape]
            facts = grid.facts(grid.newest, backend, sm, featured.kv, shape)
            for (field, value), cell in zip(QUESTIONS, featured.cells, strict=True):
                verdict = grid.judge(msgspec.structs.replace(facts, **{field: value}), grid.newest)
                expected = (
                    verdict.verdict,
                    verdict.engine_accepts,
                    verdict.route and verdict.route.id,
                    verdict.fails_at,
                    [finding.code for finding in verdict.findings],
                    verdict.missing,
                    without_values(verdict.untested),
                )
                codes = [asking.reasons[number].code for number in cell.reasons]
                given[verdict.verdict] += 1
                if (*cell[:4], codes, *cell[5:]) != expected:
                    wrong.append((backend, sm, field, value))
    return wrong, given


@pytest.mark.parametrize("name", ["small", "real"])
def test_every_feature(name: str, small: LoadedMatrix, real: LoadedMatrix) -> None:
    wrong, given = differing(Grid({"small": small, "real": real}[name]))
    assert wrong == []
    assert {"supported", "unsupported"} <= set(given)
