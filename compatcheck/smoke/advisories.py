"""Advisories of the matrix as they apply to a kernel cell: where one holds, the cell is expected to be wrong."""

from __future__ import annotations

from typing import Any

from compatcheck.matrix.model import Matrix, Rule
from compatcheck.matrix.versions import contains
from compatcheck.resolve.computed import COMPUTED
from compatcheck.resolve.conditions import Compiler, Predicate
from compatcheck.resolve.configuration import FIELDS
from compatcheck.resolve.kernel import KernelCell
from compatcheck.resolve.words import as_regex
from compatcheck.smoke.outcome import Expectation

_DEEPSEEK_QK, _DEEPSEEK_VO = 192, 128
_CALLERS = ("direct", "vllm")
WINDOW = 40
"""Sliding window of the cells that have one, in tokens to the left."""
_AXES = ("flashinfer_version", "torch_version", "cuda_version")


class _Facts:
    """A kernel cell seen as a configuration. What it cannot say is unknown, and such an advisory does not hold."""

    def __init__(self, kernel: str, cell: KernelCell, feature: str | None, engine: str) -> None:
        self.engine = engine
        self.backend = "FLASHINFER" if kernel.startswith("flashinfer.") else None
        self.sm = cell.sm
        self.dtype = cell.q_dtype
        self.kv_cache_dtype = cell.kv_dtype
        self.head_size = cell.head_size
        self.block_size = cell.page_size
        self.flashinfer_version = cell.flashinfer_version
        self.torch_version = cell.torch_version
        self.cuda_version = cell.cuda_version
        self.use_mla = ".mla." in kernel
        self.use_non_causal = cell.causal is False
        self.has_sink = feature == "sinks"
        self.sliding_window = WINDOW if feature == "sliding_window" else None
        # DeepSeek's 192 x 128 is the only pair whose sizes differ.
        self.v_head_dim = _DEEPSEEK_VO if cell.head_size == _DEEPSEEK_QK else cell.head_size
        native = ".trtllm_gen." in kernel
        self.nvfp4_route = ("native" if native else "slot-mapping") if cell.kv_dtype == "nvfp4" else "none"

    def __getattr__(self, name: str) -> Any:
        return None


class Advisories:
    """The silent advisories that name kernels, compiled once."""

    def __init__(self, matrix: Matrix) -> None:
        derived = {*COMPUTED, *(name for engine in matrix.engines.values() for name in engine.facts)}
        compiler = Compiler(matrix.sms, frozenset(FIELDS) | derived, nullable=frozenset({"sliding_window"}))
        self._rules: list[tuple[str, Rule, Predicate]] = [
            (code, rule, compiler.condition(rule.when))
            for code, rule in matrix.rules.items()
            if rule.refuser == "advisory" and rule.kernels and rule.effect != "note" and rule.bites == "silent"
        ]

    def of(self, kernel: str) -> list[tuple[str, Rule]]:
        """Return the advisories that name a kernel."""
        return [(code, rule) for code, rule, _ in self._rules if kernel in rule.kernels]

    def holding(self, kernel: str, cell: KernelCell, feature: str | None = None) -> tuple[str, Rule] | None:
        """Return the first advisory that surely holds for a cell of this kernel, or None.

        A kernel is called with an engine and without one, so a rule about either (`engine: direct`) may hold.
        """
        facts = [_Facts(kernel, cell, feature, engine) for engine in _CALLERS]
        for code, rule, when in self._rules:
            if kernel in rule.kernels and _in_range(rule, cell) and any(when.test(f) is True for f in facts):
                return code, rule
        return None


def _in_range(rule: Rule, cell: KernelCell) -> bool:
    if not rule.versions or rule.axis not in _AXES:
        return True
    version = getattr(cell, rule.axis)
    return version is not None and contains(rule.versions, version)


def advised_outcome(code: str, rule: Rule) -> Expectation:
    """Return what a cell is expected to do where an advisory holds.

    `wrong` in some shape, or, of an advisory that varies with what the cell does not fix, `varies`. An advisory that
    names an exception and words may come as that instead of a wrong result.
    """
    return Expectation(
        kind="varies" if rule.varies else "wrong",
        code=code,
        exception=rule.exception if rule.words else None,
        match="|".join(f"(?:{as_regex(words).pattern})" for words in rule.words) if rule.exception else None,
        path=("rules", code),
        any_shape=True,
        reason=rule.varies or rule.title,
    )
