from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compatcheck.host.visibility import visible_gpus

UUIDS = [["GPU-aa", "MIG-aa1"], ["GPU-ab"], ["GPU-cc"]]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, (True, True, True)),
        ("", (False, False, False)),
        ("0", (True, False, False)),
        ("2,0", (True, False, True)),
        (" 1 , 2", (False, True, True)),
        ("0,-1,2", (True, False, False)),
        ("0,7,2", (True, False, False)),
        ("none", (False, False, False)),
        ("1,1", (False, False, False)),
        ("GPU-c", (False, False, True)),
        ("GPU-a", (False, False, False)),
        ("MIG-aa1", (True, False, False)),
        ("GPU-zz,0", (False, False, False)),
    ],
)
def test_the_list_is_read_as_cuda_reads_it(value: str | None, expected: tuple[bool, ...]) -> None:
    """On a real H200 a UUID, its beginning, a wrong one, 0, '' and 1 agreed with torch.cuda.device_count()."""
    assert visible_gpus(value, UUIDS, order_known=True) == expected


def test_an_index_says_nothing_when_the_order_is_unknown() -> None:
    assert visible_gpus("0", UUIDS, order_known=False) == (None, None, None)
    assert visible_gpus("2,1,0", UUIDS, order_known=False) == (True, True, True)
    assert visible_gpus("GPU-cc", UUIDS, order_known=False) == (False, False, True)


def test_a_withheld_uuid_may_be_the_one_asked_for() -> None:
    assert visible_gpus("GPU-zz", [["GPU-aa"], []], order_known=True) == (False, None)


@given(st.lists(st.integers(-2, 5), max_size=6), st.integers(0, 4))
def test_every_value_gives_one_answer_per_gpu(indices: list[int], count: int) -> None:
    value = ",".join(map(str, indices))
    seen = visible_gpus(value, [[f"GPU-{i}"] for i in range(count)], order_known=True)
    assert len(seen) == count
    assert sum(answer is True for answer in seen) <= len(indices)
    assert None not in seen
