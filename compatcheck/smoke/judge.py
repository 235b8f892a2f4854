"""Outcome against expectation. A missing package, artifact or symbol never counts as a refusal."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from compatcheck.smoke.cell import SmokeCell
from compatcheck.smoke.levels import reaches
from compatcheck.smoke.outcome import Expectation, Judged, Judgement, Outcome, Result

_NOISE = 1e-6
"""float32 noise of a sum, where a bound of 0 stands for outputs compared bit for bit beside it."""


def judge_all(cells: Iterable[SmokeCell], results: Mapping[str, Result]) -> list[Judged]:
    """Judge every cell that has a result; advisories are judged over all shapes of a configuration."""
    cells = list(cells)
    wrong: dict[str, bool] = {}
    complete: dict[str, bool] = {}
    for cell in cells:
        result = results.get(cell.id)
        family = cell.family
        wrong[family] = wrong.get(family, False) or (result is not None and result.outcome == "wrong")
        ran = result is not None and result.outcome in ("correct", "wrong")
        complete[family] = complete.get(family, True) and ran
    judged: list[Judged] = []
    for cell in cells:
        result = results.get(cell.id)
        if result is None:
            continue
        judgement, why = judge(cell.expected, result, wrong[cell.family], complete[cell.family])
        judged.append(Judged(result=result, expected=cell.expected, judgement=judgement, why=why))
    return judged


def judge(
    expected: Expectation, result: Result, family_wrong: bool = False, family_complete: bool = True
) -> tuple[Judgement, str]:
    """Return whether a result agrees with the matrix, and why. `family_*` sum up the shapes of the configuration."""
    outcome = result.outcome
    if outcome == "skipped":
        return "unproven", result.text or "not run"
    if expected.kind == "absent":
        return _absent(expected, result)
    if outcome == "unavailable":
        return "unproven", f"{result.missing or 'something'} missing: {result.missing_what or 'not said'}"
    if outcome == "timeout" and result.stage == "compile":
        return "unproven", "not built within the time allowed"
    if expected.kind in ("refused", "compile-error"):
        return _refused(expected, result)
    if expected.kind in ("wrong", "varies"):
        return _wrong(expected, result, family_wrong, family_complete)
    if outcome == "passed":
        return "unproven", f"no failure up to level {result.level}"
    if expected.kind == "unknown":
        return "unproven", f"the matrix does not say ({expected.reason or 'unknown'}); the GPU says {outcome}"
    if outcome == "correct":
        return "confirmed", "runs and agrees with the reference"
    return "contradicted", f"the matrix says supported, the GPU says {outcome}"


def borne_out(
    outcome: Outcome, level: str | None, errors: Mapping[str, float], bounds: Mapping[str, float], tolerance: float
) -> tuple[Outcome, str | None]:
    """Return outcome and level, `correct` only where the errors say so: one too large (or none, or NaN) does not."""
    if outcome != "correct":
        return outcome, level
    if not errors:
        return "passed", "launch"
    fine = all(0 <= error <= max(bounds.get(name, tolerance), _NOISE) for name, error in errors.items())
    return (outcome, level) if fine else ("wrong", "launch")


def matches(expected: Expectation, result: Result) -> bool:
    """Return whether the exception is the declared one: class name (or a base class) and regular expression."""
    if expected.exception and expected.exception not in (result.exception, *result.bases):
        return False
    return not expected.match or re.search(expected.match, result.text or "", re.DOTALL) is not None


def settled(expected: Expectation, result: Result) -> bool:
    """Return whether a result may be believed at once: it is what the matrix says, or it is no failure."""
    if result.outcome in ("correct", "passed", "skipped", "unavailable"):
        return True
    if expected.kind in ("wrong", "varies") and (result.outcome == "wrong" or _in_advised_words(expected, result)):
        return True
    return expected.kind in ("refused", "compile-error") and (
        result.outcome == expected.kind and matches(expected, result)
    )


def _absent(expected: Expectation, result: Result) -> tuple[Judgement, str]:
    if result.outcome == "unavailable" and result.missing == "symbol":
        return "confirmed", expected.reason or "the symbol is not there"
    if result.outcome == "unavailable":
        return "unproven", f"{result.missing or 'something'} missing: {result.missing_what or 'not said'}"
    return "contradicted", "the matrix says that this version does not have the symbol, but it is there"


def _refused(expected: Expectation, result: Result) -> tuple[Judgement, str]:
    outcome = result.outcome
    if outcome in ("refused", "compile-error") and matches(expected, result):
        if outcome == expected.kind:
            return "confirmed", f"{outcome} as declared ({expected.code})"
        return "contradicted", f"declared as {expected.kind}, the library's words came as {outcome}"
    if outcome in ("refused", "compile-error"):
        return "contradicted", f"{outcome}, but not in the declared words ({expected.code})"
    if outcome == "passed":
        if reaches(result.level or "import", "launch"):
            return "contradicted", f"the matrix says {expected.kind} ({expected.code}), the GPU runs it"
        return "unproven", f"not refused up to level {result.level}"
    return "contradicted", f"the matrix says {expected.kind} ({expected.code}), the GPU says {outcome}"


def _wrong(expected: Expectation, result: Result, family_wrong: bool, family_complete: bool) -> tuple[Judgement, str]:
    if result.outcome == "wrong":
        return "confirmed", f"wrong as the advisory {expected.code} says"
    if result.outcome == "passed":
        return "unproven", f"no failure up to level {result.level}"
    if _in_advised_words(expected, result):
        return "confirmed", f"{result.outcome} in the words of the advisory {expected.code}"
    if result.outcome != "correct":
        return "contradicted", f"the advisory {expected.code} says silently wrong, the GPU says {result.outcome}"
    if expected.kind == "varies":
        return "confirmed", f"right here; {expected.code} depends on {expected.reason}"
    if expected.any_shape and family_wrong:
        return "confirmed", f"this shape is correct, another one is wrong as {expected.code} says"
    if not family_complete:
        return "unproven", f"correct in this shape; {expected.code} needs every shape of the configuration"
    return "contradicted", f"the advisory {expected.code} says wrong, every shape is correct here"


def _in_advised_words(expected: Expectation, result: Result) -> bool:
    declared = expected.exception is not None and expected.match is not None
    return declared and result.outcome in ("refused", "crashed") and matches(expected, result)
