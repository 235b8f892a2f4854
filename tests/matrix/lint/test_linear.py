"""A linear section that lints clean, in the sample and in the packaged matrix."""

from __future__ import annotations

from pathlib import Path

from compatcheck.matrix.lint import lint_files

from ..samples import lint_text, planted
from .linear_faults import LINEAR, ROUTES


def test_the_sample_section_is_clean(tmp_path: Path) -> None:
    assert lint_text(tmp_path, planted(ROUTES, LINEAR + ROUTES)) == []


def test_a_rule_about_linear_layers_may_name_the_engines_kernels(tmp_path: Path) -> None:
    text = planted(ROUTES, LINEAR + ROUTES).replace(
        "    fix: Nothing to do.\n", "    fix: Nothing to do.\n    kind: linear\n    kernels: [Fp4Kernel]\n"
    )
    assert lint_text(tmp_path, text) == []
    (problem,) = lint_text(tmp_path, text.replace("    kind: linear\n", ""))
    assert (problem.code, "Fp4Kernel" in problem.message) == ("reference", True)


def test_the_packaged_section_is_clean() -> None:
    mine = [str(p) for p in lint_files([]) if ".linear" in p.message or "linear-" in p.message or "mm_fp4" in p.message]
    assert mine == []
