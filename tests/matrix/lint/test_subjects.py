"""Rules of one subject tile the version axis: planted gaps and overlaps are found, with a version that shows them."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging.version import Version

from compatcheck.matrix.errors import Problem
from compatcheck.matrix.lint.subjects import examples
from compatcheck.matrix.lint.version_ranges import version_range
from compatcheck.matrix.versions import contains

from ..samples import lint_text, place_of, planted

FIRST, SECOND = 'versions: "<0.6.15.dev0"', 'versions: ">=0.6.15.dev0"'


def subject_problems(folder: Path, first: str, second: str) -> list[Problem]:
    text = planted(FIRST, f'versions: "{first}"' if first else "confirmed: run")
    text = text.replace(SECOND, f'versions: "{second}"' if second else "confirmed: run")
    return [p for p in lint_text(folder, text) if p.code == "subject"]


def test_nightly_falls_into_no_rule(tmp_path: Path) -> None:
    (problem,) = subject_problems(tmp_path, "<0.6.15", ">=0.6.15")
    assert (
        "leave a gap: flashinfer_version 0.6.15.dev1 falls into none of helpers-missing, helpers-there"
        in problem.message
    )
    text = planted(FIRST, 'versions: "<0.6.15"').replace(SECOND, 'versions: ">=0.6.15"')
    assert (problem.line, problem.column) == place_of(text, 'versions: ">=0.6.15"')


@pytest.mark.parametrize(
    ("first", "second", "example"),
    [
        ("<0.6.15.dev0", ">=0.6.16.dev0", "0.6.15.dev1"),
        ("<0.6.15.dev0", ">0.6.15", "0.6.15"),
        ("<=0.6.15", ">0.6.15", "0.6.15.post1"),
        ("<0.6.14.dev0", ">=0.6.15.dev0", "0.6.14"),
        ("<0.6.15.dev0", ">=0.6.15.dev0,<0.7.0.dev0", "0.7.0.dev1"),
        (">=0.6.14.dev0,<0.6.15.dev0", ">=0.6.15.dev0", "0.6.12"),
        ("!=0.6.14", ">=0.9", "0.6.14"),
    ],
)
def test_gap(first: str, second: str, example: str, tmp_path: Path) -> None:
    problems = [p for p in subject_problems(tmp_path, first, second) if "gap" in p.message]
    assert len(problems) == 1
    assert example in problems[0].message.split(" fall")[0]


@pytest.mark.parametrize(
    ("first", "second", "example"),
    [
        ("<=0.6.15", ">=0.6.15.dev0", "0.6.15.dev1"),
        ("<0.6.16.dev0", ">=0.6.15.dev0", "0.6.15"),
        ("<0.6.15.dev0", "", ""),
        ("", "", ""),
    ],
)
def test_overlap_names_both_rules(first: str, second: str, example: str, tmp_path: Path) -> None:
    problems = [p for p in subject_problems(tmp_path, first, second) if "overlaps" in p.message]
    assert len(problems) == 1
    assert problems[0].message.startswith("rules.helpers-there.versions: overlaps helpers-missing of subject 'helpers'")
    assert example in problems[0].message


def test_versions_before_the_first_release_need_no_rule(tmp_path: Path) -> None:
    assert subject_problems(tmp_path, ">=0.6.12,<0.6.15.dev0", ">=0.6.15.dev0") == []


def test_one_subject_has_one_axis(tmp_path: Path) -> None:
    text = planted(
        'versions: ">=0.6.15.dev0"\n    axis: flashinfer_version', 'versions: ">=0.6.15.dev0"\n    axis: torch_version'
    )
    (problem,) = [p for p in lint_text(tmp_path, text) if p.code == "subject"]
    assert "share one axis" in problem.message


def test_ill_formed_rule_is_not_a_gap(tmp_path: Path) -> None:
    assert [p.code for p in lint_text(tmp_path, planted("refuser: package", "refuser: pakage"))] == ["wrong-value"]


def test_pre_releases_of_the_first_release_are_before_it(tmp_path: Path) -> None:
    problems = subject_problems(tmp_path, ">=0.6.12rc1,<0.6.15.dev0", ">=0.6.15.dev0")
    assert problems == []


VERSIONS = st.builds(
    lambda release, suffix: ".".join(map(str, release)) + suffix,
    st.lists(st.integers(0, 3), min_size=2, max_size=3),
    st.sampled_from(["", "", ".dev0", ".dev1", "a1", "rc1", "rc1.dev1", ".post1", ".post1.dev1"]),
)
RANGES = st.lists(
    st.tuples(st.sampled_from(["<", "<=", ">", ">=", "==", "!="]), VERSIONS).map("".join), min_size=1, max_size=3
).map(",".join)


@given(RANGES, VERSIONS)
def test_algebra_and_membership_agree(spec: str, version: str) -> None:
    """What lint proves with ranges is what the resolver decides with `contains`."""
    assert (Version(version) in version_range(spec)) == contains(spec, version)


@given(RANGES, RANGES, VERSIONS)
def test_gap_and_overlap_of_two_ranges(one: str, other: str, version: str) -> None:
    covered = version_range(one) | version_range(other)
    common = version_range(one) & version_range(other)
    assert (Version(version) in covered) == (contains(one, version) or contains(other, version))
    assert (Version(version) in common) == (contains(one, version) and contains(other, version))


@given(RANGES, st.lists(VERSIONS, min_size=1, max_size=4))
def test_examples_lie_inside(spec: str, mentioned: list[str]) -> None:
    known = sorted(Version(text) for text in mentioned)
    for example in examples(version_range(spec), known, known):
        assert contains(spec, example)
