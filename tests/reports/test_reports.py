"""Public bug reports: the verdict that each thread concluded must come out, for the reason it concluded."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from compatcheck.matrix.load import LoadedMatrix
from compatcheck.resolve.configuration import Configuration
from compatcheck.resolve.normalise import normalise

REPORTS: list[dict[str, Any]] = json.loads((Path(__file__).parent.parent / "data" / "reports.json").read_text("utf-8"))
IN_SCOPE = [report for report in REPORTS if report["in_scope"]]
GIVEN = Path(__file__).parents[3] / "shared" / "cases" / "reports.json"


@pytest.mark.parametrize("report", IN_SCOPE, ids=lambda report: str(report["id"]))
def test_report(report: dict[str, Any], loaded: LoadedMatrix) -> None:
    verdict = loaded.resolver.judge(normalise(loaded.matrix, Configuration(**report["configuration"])))
    codes = {finding.code for finding in verdict.findings}
    assert verdict.verdict == report["expected"], sorted(codes)
    assert codes >= set(report.get("must_mention", ()))


def test_reports_out_of_scope_say_why() -> None:
    out = [report for report in REPORTS if not report["in_scope"]]
    assert all(report.get("why_not") for report in out)
    for report in out:
        print(f"{report['id']}: {report['why_not']}")


@pytest.mark.skipif(not GIVEN.is_file(), reason="the collection of reports lies beside the repository, and is not here")
def test_no_report_is_left_out() -> None:
    given = {report["id"] for report in json.loads(GIVEN.read_text("utf-8"))}
    assert given <= {report["id"] for report in REPORTS}
