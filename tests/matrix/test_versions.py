from __future__ import annotations

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from packaging.specifiers import InvalidSpecifier, SpecifierSet

from compatcheck.matrix.versions import InvalidVersion, Version, check_range, contains, parse, place, public

RELEASES = ("0.30.0", "0.31.0", "0.31.1", "0.33.0")


@pytest.mark.parametrize(
    ("spec", "version", "inside"),
    [
        (">=0.6.15", "0.6.15.dev20260701", False),
        ("<0.6.15", "0.6.15.dev20260701", False),
        (">=0.6.15.dev0", "0.6.15.dev20260701", True),
        ("<0.6.15.dev0", "0.6.14.post3", True),
        ("<0.6.15.dev0", "0.6.15.dev0", False),
        ("<=0.7.2", "0.7.2.post1", False),
        (">0.7.2", "0.7.2.post1", False),
        ("==0.7.2", "0.7.2+cu130", True),
        ("<=0.7.2", "0.7.2+cu130", True),
        ("==0.7.*", "0.7.0rc1", True),
        (">=0.6.14.dev0,<=0.6.14,!=0.6.14", "0.6.14.dev5", True),
    ],
)
def test_contains(spec: str, version: str, inside: bool) -> None:
    assert contains(spec, version) is inside


def test_bad_input_raises() -> None:
    with pytest.raises(InvalidVersion):
        contains(">=1", "one")
    with pytest.raises(InvalidSpecifier):
        contains("1.0", "1.0")


SUFFIXES = st.sampled_from(["", "", ".dev0", ".dev7", "a1", "rc1", ".post1", ".post1.dev2"])
VERSIONS = st.builds(
    lambda parts, suffix: ".".join(map(str, parts)) + suffix,
    st.lists(st.integers(0, 5), min_size=2, max_size=3),
    SUFFIXES,
)
LOCALS = st.sampled_from(["+cu128", "+cu130", "+g1a2b3c.d20260701", "+local"])


@given(VERSIONS, VERSIONS, LOCALS, st.sampled_from(["<", "<=", ">", ">=", "==", "!="]))
def test_local_part_never_decides(bound: str, version: str, local: str, operator: str) -> None:
    assert contains(operator + bound, version) is contains(operator + bound, version + local)
    assert public(version + local) == str(parse(version))


@settings(max_examples=400)
@given(
    st.lists(st.tuples(st.sampled_from(["<", "<=", ">", ">=", "==", "!=", "~="]), VERSIONS), min_size=1, max_size=3),
    VERSIONS,
    st.sampled_from(["", "+cu130"]),
)
def test_ranges_mean_what_packaging_makes_of_them(bounds: list[tuple[str, str]], version: str, local: str) -> None:
    spec = ", ".join(operator + bound for operator, bound in bounds)
    meant = SpecifierSet(spec).contains(Version(version), prereleases=True)
    check_range(spec)
    assert contains(spec, version + local) is meant


SPELLED = [
    f"{release}{suffix}"
    for release in ("0.0", "0.0.0", "0.1", "1", "1.0", "1.1.0")
    for suffix in ("", ".dev0", ".dev1", "a1", "rc1", ".post1", ".post1.dev2", ".post2")
]


@pytest.mark.parametrize("operator", ["<", "<=", ">", ">=", "==", "!="])
def test_each_order_means_what_packaging_makes_of_it(operator: str) -> None:
    """Every pair of spellings: the few that differ (`<0.1.post1` takes 0.1.dev0) are too rare to be drawn."""
    for bound in SPELLED:
        meant = SpecifierSet(operator + bound)
        for version in SPELLED:
            assert contains(operator + bound, version) is meant.contains(version, prereleases=True), (bound, version)


@pytest.mark.parametrize("spec", ["1.0", "=1.0", ">=x", "<", "0.6.dev0", ">=1.0,,<2.dev0", "=>1.0"])
def test_what_is_no_range(spec: str) -> None:
    try:
        SpecifierSet(spec)
    except InvalidSpecifier:
        with pytest.raises(InvalidSpecifier):
            check_range(spec)
        with pytest.raises(InvalidSpecifier):
            contains(spec, "1.0")
    else:
        check_range(spec)


@given(VERSIONS, VERSIONS)
def test_dev0_bounds_tile(bound: str, version: str) -> None:
    """`<X.dev0` and `>=X.dev0` of a release X leave nothing between them, nightlies included."""
    release = Version(bound).base_version
    assert contains(f"<{release}.dev0", version) is not contains(f">={release}.dev0", version)


@given(VERSIONS, VERSIONS)
def test_ordered_operators_agree_with_the_order(bound: str, version: str) -> None:
    assert contains(f">={bound}", version) is (Version(version) >= Version(bound))
    if contains(f">{bound}", version):
        assert Version(version) > Version(bound)


@pytest.mark.parametrize(
    ("version", "release", "reason"),
    [
        ("0.31.0", "0.31.0", None),
        ("0.31", "0.31.0", None),
        ("0.31.0+cu130", "0.31.0", None),
        ("0.33+cu130", "0.33.0", None),
        ("0.33.0rc1", "0.33.0", "pre-release of 0.33.0"),
        ("0.31.1.dev300+g123", "0.31.1", "pre-release of 0.31.1"),
        ("0.31.0.post1", "0.31.0", "0.31.0 is the one before it"),
        ("0.32.0", "0.31.1", "0.31.1 is the one before it"),
        ("0.34.0", "0.33.0", "newer than 0.33.0"),
        ("0.34.0rc1", "0.33.0", "newer than 0.33.0"),
        ("0.1", "0.30.0", "older than 0.30.0"),
    ],
)
def test_place(version: str, release: str, reason: str | None) -> None:
    placed, why = place(version, RELEASES)
    assert placed == release
    assert (why is None) if reason is None else (why is not None and reason in why)


@given(VERSIONS, st.lists(VERSIONS, min_size=1, max_size=6))
def test_place_is_the_release_or_the_one_before(version: str, others: list[str]) -> None:
    releases = tuple(str(known) for known in sorted({Version(other) for other in others}))
    placed, why = place(version, releases)
    assert placed in releases
    wanted = Version(version)
    if wanted in map(Version, releases):
        assert Version(placed) == wanted
        assert why is None
        return
    assert why is not None
    assert version in why
    assume("pre-release of" not in why)
    older = [known for known in map(Version, releases) if known <= wanted]
    assert Version(placed) == (max(older) if older else Version(releases[0]))


@given(VERSIONS, LOCALS)
def test_place_ignores_the_local_part(version: str, local: str) -> None:
    assert place(version, RELEASES)[0] == place(version + local, RELEASES)[0]
