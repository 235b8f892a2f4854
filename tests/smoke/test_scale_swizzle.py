"""The 128x4 layout: every byte has one place, padding is where it belongs, and the inverse gives back what went in."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from compatcheck.smoke.scale_swizzle import offsets, padded_shape


@given(st.integers(1, 300), st.integers(1, 40))
def test_offsets_are_one_to_one_and_inside_the_buffer(rows: int, columns: int) -> None:
    where = offsets(rows, columns)
    full_rows, full_columns = padded_shape(rows, columns)
    assert full_rows % 128 == 0
    assert full_columns % 4 == 0
    assert where.shape == (rows, columns)
    assert len(np.unique(where)) == rows * columns
    assert 0 <= where.min() <= where.max() < full_rows * full_columns


def test_offsets_are_those_of_the_engines_reshape_and_permute() -> None:
    full = np.arange(256 * 12).reshape(256, 12)
    stored = full.reshape(2, 4, 32, 3, 4).transpose(0, 3, 2, 1, 4).reshape(-1)
    assert np.array_equal(stored[offsets(256, 12)], full)


@pytest.mark.parametrize(("rows", "columns"), [(97, 29), (128, 4), (129, 5), (1, 1)])
def test_the_inverse_gives_back_the_scales(rows: int, columns: int) -> None:
    torch = pytest.importorskip("torch")
    from compatcheck.smoke.scale_swizzle import swizzle, unswizzle

    scales = torch.randint(0, 255, (rows, columns), dtype=torch.uint8)
    stored = swizzle(scales, fill_rows=0xA5)
    assert torch.equal(unswizzle(stored, rows, columns), scales)
    full = unswizzle(stored, *stored.shape)
    assert (full[:rows, columns:] == 0).all()
    assert (full[rows:] == 0xA5).all()
    with pytest.raises(ValueError, match="take 128 x 4 = 512 bytes"):
        unswizzle(stored.new_zeros(3), 5, 2)


@pytest.mark.parametrize("shape", ["aligned", "single", "padded"])
def test_packed_operands_give_the_product_of_what_they_stand_for(shape: str) -> None:
    torch = pytest.importorskip("torch")
    from compatcheck.smoke import nvfp4_torch
    from compatcheck.smoke.linear_problem import GAIN, SIZES, LinearProblem
    from compatcheck.smoke.scale_swizzle import unswizzle

    torch.manual_seed(0)
    size = SIZES[shape]
    problem = LinearProblem(size, device="cpu", quantised_activations=True, multiple_of=32)

    def read(operand: object) -> object:
        data, scales = operand.data, operand.scales  # type: ignore[attr-defined]
        return nvfp4_torch.dequantize(data, unswizzle(scales, data.shape[0], data.shape[1] // 8), 1.0).double()

    a, b = read(problem.a), read(problem.b)
    assert b.shape == (-(-size.n // 32) * 32, -(-size.k // 32) * 32)  # type: ignore[attr-defined]
    product = problem.alpha.double() * (a @ b.T)  # type: ignore[attr-defined]
    error = (product[:, : size.n] - problem.want).norm() / problem.want.norm()
    assert error < 1e-6
    without_gain = (product[:, : size.n] / GAIN - problem.want).norm() / problem.want.norm()
    assert without_gain > 0.5
    assert (product[:, size.n :] == 0).all()
