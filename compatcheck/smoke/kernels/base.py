"""What a smoke kernel is: which kernels it serves, which modules it needs, and how one cell is launched and checked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from compatcheck.matrix.model import Kernel

if TYPE_CHECKING:
    from compatcheck.smoke.cell import SmokeCell
    from compatcheck.smoke.measure import Measured


class SymbolMissingError(Exception):
    """The library at this version does not have the symbol."""


class DriverGapError(Exception):
    """The smoke test cannot express this cell (not a statement about the kernel)."""


class Check:
    """One output against its reference.

    `got` returns the output after a launch, `want` is the reference: float tensors are compared by
    ||got - want|| / ||want||, byte tensors bit for bit where `exact`. `allowed` is the fraction of bytes that may
    differ (fast-math rounding of block scales), 0 for none.
    """

    def __init__(
        self,
        name: str,
        got: Callable[[], Any],
        want: Any,
        *,
        exact: bool = False,
        allowed: float = 0.0,
        tolerance: float | None = None,
    ) -> None:
        self.name = name
        self.got = got
        self.want = want
        self.exact = exact
        self.allowed = allowed
        self.tolerance = tolerance


class Launch:
    """A cell ready to run: `call` launches (again and again), `poison` fills every output so that a gap shows.

    `capturable` is whether `call` may be captured in a CUDA graph. `notes` go into the evidence.
    """

    def __init__(
        self,
        call: Callable[[], None],
        poison: Callable[[], None],
        checks: Sequence[Check],
        *,
        capturable: bool = True,
        notes: dict[str, Any] | None = None,
    ) -> None:
        self.call = call
        self.poison = poison
        self.checks = checks
        self.capturable = capturable
        self.notes = notes or {}


class SmokeKernel:
    """Base of every smoke kernel. torch and FlashInfer are imported inside the methods, never at import."""

    name: str = ""
    ids: tuple[str, ...] = ()
    """Kernel ids of the matrix, as glob patterns."""
    cpu: bool = False
    own_check: str = ""
    """Id of a check of compatcheck's own reference that this class makes; empty for kernels of the matrix."""
    features: tuple[str, ...] = ()
    prefill_shapes: tuple[str, ...] = ("short", "long", "needle")
    decode_shapes: tuple[str, ...] = ("ragged", "needle")
    own_shapes: tuple[str, ...] | None = None

    def serves(self, kernel: str) -> bool:
        """Return whether this class runs the kernel of that id."""
        return any(fnmatchcase(kernel, pattern) for pattern in self.ids)

    def axes(self, kernel: Kernel) -> dict[str, Sequence[Any]]:
        """Return the values of axes that need others than the matrix grants."""
        return {}

    def shapes(self, point: dict[str, Any]) -> tuple[str, ...]:
        """Return the shapes in which each point is run."""
        return self.own_shapes or (self.prefill_shapes if "causal" in point else self.decode_shapes)

    def runs(self, point: dict[str, Any]) -> bool:
        """Return whether the call can be expressed at all."""
        return True

    def complete(self, point: dict[str, Any]) -> dict[str, Any]:
        """Return the point with what the calling convention fixes."""
        return point

    def modules(self, cell: SmokeCell) -> tuple[str, ...]:
        """Return keys of the JIT modules the cell needs; equal keys are built once."""
        return ()

    def dear(self, cell: SmokeCell) -> bool:
        """Return whether a module of the cell takes minutes to build."""
        return False

    def build(self, module: str, cell: SmokeCell) -> None:
        """Build the module (and load it, unless loading is switched off): raises what the library raises."""

    def prepare(self, cell: SmokeCell, device: str) -> Launch:
        """Return the launch of a cell. Plans, allocates, and computes the reference."""
        raise NotImplementedError

    def run(self, cell: SmokeCell, level: str, device: str) -> Measured:
        """Prepare, launch and measure a cell, up to a level; raises what the library raises."""
        import time

        from compatcheck.smoke.measure import measure

        started = time.perf_counter()
        launch = self.prepare(cell, device)
        prepared = time.perf_counter() - started
        done = measure(launch, level if cell.graph or level != "graph" else "correct", cell.tolerance, device)
        done.timings["prepare"] = prepared
        return done


def symbol(path: str) -> Any:
    """Return `module:name`; raises `SymbolMissingError` where the module is there and the name is not."""
    import importlib

    module_name, _, name = path.partition(":")
    try:
        target: Any = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        package = module_name.partition(".")[0]
        if error.name and error.name != package and error.name.startswith(f"{package}."):
            raise SymbolMissingError(f"{module_name} is not a module of this version") from error
        raise
    for part in name.split("."):
        if not hasattr(target, part):
            raise SymbolMissingError(f"{module_name} has no {name}")
        target = getattr(target, part)
    return target
