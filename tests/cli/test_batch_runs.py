"""Runs of lines: every line in one of them, in order; whole backends to a process where that is even enough."""

from __future__ import annotations

from itertools import groupby, pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compatcheck.cli.batch_runs import Run, runs

BACKENDS = ["FLASHINFER", "FLASH_ATTN", "FLASHINFER_MLA", "TRITON_ATTN"]


def line(backend: str, number: int = 0) -> bytes:
    return b'{"head_size": %d, "backend": "%s", "sm": "9.0"}' % (number, backend.encode())


def even(count: int, parts: int) -> list[Run]:
    return [Run(count * part // parts, count * (part + 1) // parts, part) for part in range(parts)]


def together(found: list[Run], count: int, parts: int) -> None:
    """Check that runs have every line once, in order, and give them to no more processes than there are."""
    assert found[0].start == 0
    assert found[-1].stop == count
    assert all(one.stop == other.start for one, other in pairwise(found))
    assert all(run.start <= run.stop and 0 <= run.group < max(parts, len(BACKENDS) + 3) for run in found)


TEXTS = st.sampled_from(
    [*(line(backend) for backend in BACKENDS), b"{}", b"", b"[1]", b"\xff\xfe", b'{"backend" :"X"}']
)


@settings(max_examples=150, deadline=None)
@given(
    pieces=st.lists(st.tuples(TEXTS, st.integers(1, 400)), min_size=1, max_size=8),
    last=st.lists(TEXTS, max_size=20),
    parts=st.integers(1, 5),
)
def test_every_line_is_in_one_run(pieces: list[tuple[bytes, int]], last: list[bytes], parts: int) -> None:
    lines = [text for text, count in pieces for _ in range(count)] + last
    together(runs(lines, parts), len(lines), parts)


@pytest.mark.parametrize("parts", [2, 3, 4])
def test_a_backend_is_a_group_where_groups_can_be_dealt_out_evenly(parts: int) -> None:
    lines = [line(backend, n) for backend in BACKENDS for n in range(997)] * 3
    found = runs(lines, parts)
    together(found, len(lines), parts)
    if parts == 3:  # four equal backends cannot be dealt out to three
        assert found == even(len(lines), parts)
        return
    assert [(run.start, run.stop) for run in found] == [(at, at + 997) for at in range(0, len(lines), 997)]
    assert [run.group for run in found] == [0, 1, 2, 3] * 3


def test_the_largest_group_is_the_first() -> None:
    sizes = {"FLASHINFER": 900, "FLASH_ATTN": 1100, "TRITON_ATTN": 1000, "FLASHINFER_MLA": 990}
    lines = [line(backend, n) for backend, count in sizes.items() for n in range(count)]
    assert [run.group for run in runs(lines * 2, 2)] == [3, 0, 1, 2] * 2


def test_more_groups_than_a_pipe_holds_are_not_made() -> None:
    lines = [line(f"BACKEND{n:05}") for n in range(1025) for _ in range(65)]
    assert runs(lines, 2) == even(len(lines), 2)
    assert len({run.group for run in runs(lines[65:], 2)}) == 1024


@pytest.mark.parametrize(
    "lengths",
    [(16, 1500, 1, 1483), (17, 1490, 15, 1478), (33, 1400, 40, 1527)],
)
def test_a_run_ends_where_the_name_changes(lengths: tuple[int, ...]) -> None:
    """Only every sixteenth line is looked at, but an end is found to the line."""
    names = ["FLASH_ATTN", "FLASHINFER"] * 2
    lines = [line(name) for name, count in zip(names, lengths, strict=True) for _ in range(count)]
    found = runs(lines, 2)
    together(found, len(lines), 2)
    if len(found) > 2:
        # A run of fewer lines than the stride may be stepped over; what is found ends where a name does.
        ends = {0}
        for _, group in groupby(enumerate(lines), key=lambda one: one[1]):
            ends.add(max(at for at, _ in group) + 1)
        assert {run.start for run in found} | {run.stop for run in found} <= ends


@pytest.mark.parametrize(
    "lines",
    [
        [line(BACKENDS[n % 4], n) for n in range(4000)],
        [line("FLASHINFER", n) for n in range(4000)],
        [line("FLASHINFER", n) for n in range(3000)] + [line("FLASH_ATTN", n) for n in range(1000)],
        [b'{"head_size": %d}' % n for n in range(4000)],
        [b"" for _ in range(4000)],
    ],
    ids=["mixed", "one", "uneven", "none", "empty"],
)
def test_one_run_each_where_backends_do_not_help(lines: list[bytes]) -> None:
    assert runs(lines, 2) == even(4000, 2)


def test_one_process_gets_all() -> None:
    assert runs([b"{}"] * 7, 1) == [Run(0, 7, 0)]


def test_lines_without_a_backend_are_a_run_of_their_own() -> None:
    lines = [b'{"sm": "9.0"}'] * 500 + [line("FLASHINFER")] * 500
    assert runs(lines, 2) == [Run(0, 500, 0), Run(500, 1000, 1)]
    assert runs(lines[::-1], 2) == [Run(0, 500, 0), Run(500, 1000, 1)]
