"""The reference itself, on a CPU: against torch's own attention, and the quantiser bit for bit against numpy's."""

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch")

from compatcheck.smoke import nvfp4_torch  # noqa: E402
from compatcheck.smoke.kernels.base import Check, Launch  # noqa: E402
from compatcheck.smoke.measure import INFINITE, measure  # noqa: E402
from compatcheck.smoke.problem import Cache, Problem, poison  # noqa: E402
from compatcheck.smoke.reference import attention, ragged_attention  # noqa: E402
from compatcheck.smoke.scale_swizzle import swizzle  # noqa: E402
from compatcheck.smoke.shapes import lengths  # noqa: E402


def tensors(lq: int, lk: int, group: int = 4, head: int = 32) -> tuple[Any, Any, Any]:
    torch.manual_seed(0)
    return torch.randn(lq, 2 * group, head), torch.randn(lk, 2, head), torch.randn(lk, 2, head)


def by_sdpa(q: Any, k: Any, v: Any, mask: Any = None, scale: float = 0.2) -> Any:
    q, k, v = (x.transpose(0, 1).unsqueeze(0).double() for x in (q, k, v))
    out = torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=mask, scale=scale, enable_gqa=True)
    return out.squeeze(0).transpose(0, 1).float()


def test_plain_attention_is_that_of_torch() -> None:
    q, k, v = tensors(7, 33)
    assert torch.allclose(attention(q, k, v, scale=0.2), by_sdpa(q, k, v), atol=1e-6)


def test_the_last_query_stands_at_the_last_key() -> None:
    q, k, v = tensors(7, 33)
    mask = torch.ones(7, 33, dtype=torch.bool).tril(33 - 7)
    assert torch.allclose(attention(q, k, v, scale=0.2, causal=True), by_sdpa(q, k, v, mask), atol=1e-6)


def test_a_window_ends_on_the_left() -> None:
    q, k, v = tensors(7, 33)
    at = torch.arange(7)[:, None] + 26
    key = torch.arange(33)[None]
    mask = (key <= at) & (key >= at - 5)
    got = attention(q, k, v, scale=0.2, causal=True, window_left=5)
    assert torch.allclose(got, by_sdpa(q, k, v, mask), atol=1e-6)


def test_a_soft_cap_bounds_the_logits() -> None:
    q, k, v = tensors(1, 9, group=1)
    logits = torch.einsum("qhd,khd->hqk", q.double(), k.double()) * 0.2
    weights = (3.0 * torch.tanh(logits / 3.0)).softmax(-1)
    want = torch.einsum("hqk,khd->qhd", weights, v.double()).float()
    assert torch.allclose(attention(q, k, v, scale=0.2, soft_cap=3.0), want, atol=1e-6)


def test_a_sink_is_one_more_key_without_a_value() -> None:
    q, k, v = tensors(1, 9, group=1)
    sinks = torch.tensor([0.5, 4.0])
    logits = torch.einsum("qhd,khd->hqk", q.double(), k.double()) * 0.2
    logits = torch.cat([logits, sinks.double().view(2, 1, 1)], -1)
    want = torch.einsum("hqk,khd->qhd", logits.softmax(-1)[..., :-1], v.double()).float()
    assert torch.allclose(attention(q, k, v, scale=0.2, sinks=sinks), want, atol=1e-6)


def test_ragged_is_each_sequence_by_itself() -> None:
    q, k, v = tensors(5, 20)
    got = ragged_attention(q, k, v, (2, 3), (12, 8), scale=0.2, causal=True)
    assert torch.equal(got[:2], attention(q[:2], k[:12], v[:12], scale=0.2, causal=True))
    assert torch.equal(got[2:], attention(q[2:], k[12:], v[12:], scale=0.2, causal=True))


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float32"])
@pytest.mark.parametrize("head", [16, 64, 512])
def test_both_quantisers_agree_in_every_bit(dtype: str, head: int) -> None:
    from compatcheck.kv_cache import nvfp4_dequantize, nvfp4_quantize

    torch.manual_seed(head)
    x = (torch.randn(300, head) * torch.logspace(-7, 4, 300)[:, None]).to(getattr(torch, dtype))
    x[0], x[1, :16], x[2, 0] = 0.0, -0.0, 1e4
    g = nvfp4_torch.decode_scale(x)
    data, scales = nvfp4_torch.quantize(x, g)
    want_data, want_scales = nvfp4_quantize(x.float().numpy(), g)
    assert (data.numpy() == want_data).all()
    assert (scales.view(torch.uint8).numpy() == want_scales).all()
    assert (nvfp4_torch.dequantize(data, scales, g).numpy() == nvfp4_dequantize(want_data, want_scales, g)).all()


def problem(shape: str = "ragged", page: int = 16, layout: str = "HND", **more: Any) -> Problem:
    torch.manual_seed(1)
    values: dict[str, Any] = {"page": page, "q_heads": 4, "kv_heads": 2, "head_size": 64, "dtype": torch.bfloat16}
    return Problem(lengths(shape, page, decode=shape != "long"), layout=layout, device="cpu", **{**values, **more})


@pytest.mark.parametrize("layout", ["NHD", "HND"])
@pytest.mark.parametrize("page", [1, 16, 64])
def test_what_is_scattered_is_gathered(layout: str, page: int) -> None:
    p = problem(page=page, layout=layout)
    for dtype in ("bfloat16", "fp8_e4m3", "fp8_e5m2", "nvfp4"):
        cache = Cache(p, dtype)
        assert torch.equal(p.gather(cache.pools[0]).view(torch.uint8), cache.rows[0].contiguous().view(torch.uint8))
        assert float((cache.k - p.k.float()).norm() / p.k.float().norm()) < 0.15


@pytest.mark.parametrize("page", [1, 16, 32, 64])
@pytest.mark.parametrize("shape", ["short", "long", "ragged", "needle"])
def test_every_batch_has_a_last_page_of_one_entry(shape: str, page: int) -> None:
    decode = shape == "ragged"
    sizes = lengths(shape, page, decode=decode)
    assert any((n - 1) % page == 0 for n in sizes.kv)
    assert all(k >= q for q, k in zip(sizes.q, sizes.kv, strict=True))
    if shape == "short":
        assert max(sizes.q) <= 8
    if shape == "long":
        assert max(sizes.q) > 128


def test_pages_are_permuted() -> None:
    p = problem("long")
    assert p.kv_indices.tolist() != sorted(p.kv_indices.tolist())


def test_the_needle_takes_nearly_all_the_weight_in_every_position_class() -> None:
    p = problem("needle")
    assert len(p.lengths.needles) >= 6
    out = ragged_attention(p.q, p.k, p.v, p.lengths.q, p.lengths.kv, scale=p.scale)
    rows, start = [], 0
    for n, needle in zip(p.lengths.kv, p.lengths.needles, strict=True):
        rows.append(p.v[start + needle].float().repeat_interleave(2, 0))
        start += n
    want = torch.stack(rows)
    assert float((out - want).norm() / want.norm()) < 0.02


def test_the_swizzle_is_a_permutation_of_every_tile() -> None:
    scales = torch.arange(128 * 8, dtype=torch.int64).remainder(251).to(torch.uint8).view(128, 8)
    moved = swizzle(scales).flatten()
    for m, k in ((0, 0), (33, 5), (127, 7), (64, 3)):
        assert moved[(k // 4) * 512 + (m % 32) * 16 + (m // 32) * 4 + k % 4] == scales[m, k]


def launch(write: Any, want: Any) -> Launch:
    out = torch.empty(4, 8)
    return Launch(lambda: write(out), lambda: poison(out), [Check("out", lambda: out, want)])


def test_an_unwritten_element_is_wrong() -> None:
    want = torch.ones(4, 8)

    def all_but_one(out: Any) -> None:
        out.view(-1)[:-1] = 1.0

    done = measure(launch(all_but_one, want), "correct", 0.9, "cpu")
    assert done.outcome == "wrong"
    assert done.errors["out"] == INFINITE
    assert done.notes["out"]["not_finite_or_unwritten"] == 1


def test_a_small_error_is_correct_and_a_large_one_wrong() -> None:
    want = torch.ones(4, 8)
    assert measure(launch(lambda o: o.fill_(1.004), want), "correct", 0.005, "cpu").outcome == "correct"
    assert measure(launch(lambda o: o.fill_(1.006), want), "correct", 0.005, "cpu").outcome == "wrong"
    zero = measure(launch(lambda o: o.zero_(), want), "correct", 0.005, "cpu")
    assert zero.notes["out"]["all_zero"] is True


def test_level_launch_compares_nothing() -> None:
    done = measure(launch(lambda o: o.zero_(), torch.ones(4, 8)), "launch", 0.005, "cpu")
    assert (done.outcome, done.level, done.errors) == ("passed", "launch", {})
