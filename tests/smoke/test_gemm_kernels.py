"""The cells of NVFP4 linear layers, with stand-ins on the CPU: a right kernel is right, and each fault is found."""

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch")

from compatcheck.matrix.load import LoadedMatrix  # noqa: E402
from compatcheck.smoke.cell import SmokeCell  # noqa: E402
from compatcheck.smoke.cells import Target, plan  # noqa: E402
from compatcheck.smoke.kernels import BY_NAME, KERNELS  # noqa: E402
from compatcheck.smoke.measure import Measured  # noqa: E402
from tests.smoke.stand_ins import Gemm, Quantiser  # noqa: E402

FAULTS = ("no alpha", "linear scales", "swapped nibbles", "zeros", "last row unwritten", "last column unwritten")


def planned(loaded: LoadedMatrix, sm: str) -> list[SmokeCell]:
    target = Target(sm=sm, flashinfer="0.7.2.post1", torch="2.14.0", cuda="13.0")
    return list(plan(loaded.matrix, target, KERNELS).cells)


@pytest.fixture(scope="module")
def cells(loaded: LoadedMatrix) -> list[SmokeCell]:
    """The cells of SM 10.0 and 12.0, where every backend of `mm_fp4` runs on one of them."""
    return [cell for sm in ("10.0", "12.0") for cell in planned(loaded, sm)]


def of(cells: list[SmokeCell], *prefixes: str) -> list[SmokeCell]:
    return [cell for cell in cells if cell.kernel.startswith(prefixes) and cell.expected.kind == "supported"]


def run(monkeypatch: pytest.MonkeyPatch, cell: SmokeCell, stand_in: Any) -> Measured:
    for module in ("mm_fp4", "mm_bf16_fp4", "nvfp4_activation"):
        monkeypatch.setattr(f"compatcheck.smoke.kernels.{module}.symbol", stand_in.symbol)
    torch.manual_seed(cell.seed)
    return BY_NAME[cell.driver].run(cell, "correct", "cpu")


def test_every_backend_size_and_output_is_right(monkeypatch: pytest.MonkeyPatch, cells: list[SmokeCell]) -> None:
    stand_in = Gemm()
    asked = of(cells, "flashinfer.mm_fp4.", "flashinfer.mm_bf16_fp4.")
    for cell in asked:
        done = run(monkeypatch, cell, stand_in)
        assert done.outcome == "correct", (cell.id, done.errors, done.notes)
    assert set(stand_in.backends) == {"cutlass", "cudnn", "trtllm", "cute-dsl", "b12x", "auto"}
    assert {cell.o_dtype for cell in asked} == {"bfloat16", "float16"}
    assert {cell.shape for cell in asked} == {"aligned", "single", "padded"}


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("kernel", ["flashinfer.mm_fp4.cutlass", "flashinfer.mm_bf16_fp4."])
def test_every_fault_of_a_gemm_is_found(
    monkeypatch: pytest.MonkeyPatch, cells: list[SmokeCell], kernel: str, fault: str
) -> None:
    asked = [cell for cell in of(cells, kernel) if (cell.sm, cell.o_dtype) == ("10.0", "bfloat16")]
    assert {cell.shape for cell in asked} == {"aligned", "single", "padded"}
    for cell in asked:
        assert run(monkeypatch, cell, Gemm(fault)).outcome == "wrong", cell.id


def test_a_wrong_weight_layout_of_trtllm_is_found(monkeypatch: pytest.MonkeyPatch, cells: list[SmokeCell]) -> None:
    class Unshuffled(Gemm):
        def symbol(self, path: str) -> Any:
            return (lambda weight, tile: weight) if path == "flashinfer:shuffle_matrix_a" else super().symbol(path)

    asked = of(cells, "flashinfer.mm_fp4.trtllm")
    assert asked
    for cell in asked:
        assert run(monkeypatch, cell, Unshuffled()).outcome == "wrong", cell.id


def test_the_quantiser_is_right_in_both_layouts(monkeypatch: pytest.MonkeyPatch, cells: list[SmokeCell]) -> None:
    asked = of(cells, "flashinfer.nvfp4_quantize/") or [c for c in cells if c.kernel == "flashinfer.nvfp4_quantize"]
    assert {cell.q_dtype for cell in asked} == {"bfloat16", "float16"}
    for cell in asked:
        done = run(monkeypatch, cell, Quantiser())
        assert done.outcome == "correct", (cell.id, done.errors)
        assert set(done.errors) == {"values", "swizzled_values", "not_all_zero"}
        assert done.errors["values"] == done.errors["swizzled_values"]


@pytest.mark.parametrize(
    ("fault", "seen"),
    [
        ("zeros", {"values", "swizzled_values", "not_all_zero"}),
        ("decode scale", {"values", "swizzled_values"}),
        ("linear scales", {"swizzled_values"}),
    ],
)
def test_every_fault_of_the_quantiser_is_found(
    monkeypatch: pytest.MonkeyPatch, cells: list[SmokeCell], fault: str, seen: set[str]
) -> None:
    for cell in [c for c in cells if c.kernel == "flashinfer.nvfp4_quantize"]:
        done = run(monkeypatch, cell, Quantiser(fault))
        assert done.outcome == "wrong"
        wrong = {name for name, error in done.errors.items() if error > (0.0 if name == "not_all_zero" else 0.15)}
        assert seen <= wrong, (cell.id, done.errors)


def test_sm90_must_refuse_every_native_gemm(loaded: LoadedMatrix) -> None:
    gemms = [cell for cell in planned(loaded, "9.0") if cell.phase == "gemm" and cell.kernel.startswith("flashinfer.")]
    kernels = {name for name, kernel in loaded.matrix.kernels.items() if kernel.phase == "gemm"}
    assert {cell.kernel for cell in gemms} == kernels
    assert {cell.expected.kind for cell in gemms} == {"refused"}


def test_the_emulation_runs_on_the_cpu(loaded: LoadedMatrix) -> None:
    (cell,) = [cell for cell in planned(loaded, "cpu") if cell.kernel == "compatcheck.reference.nvfp4_gemm"]
    done = BY_NAME[cell.driver].run(cell, "correct", "cpu")
    assert done.outcome == "correct"
    assert set(done.errors) == {"a_scales", "b_scales", "layout", "product"}
