"""The tiles of additive attention against tanh in float64, in each range of |q| + |k|: four factors of one reciprocal,
two, and a plain tanh for what is beyond both, tiny, or no number."""

import os
from functools import partial

import pytest
import torch
from torch import Tensor

from tiers import sweep_but

if not torch.cuda.is_available():
    os.environ["TRITON_INTERPRET"] = "1"  # read when the kernels are first imported
pytest.importorskip("triton")
if torch.cuda.is_available():
    pytest.skip("with a GPU benchmarks/check_kernels.py checks the compiled kernels", allow_module_level=True)

from additive_cases import of_sizes, poisoned  # noqa: F401 (a fixture for every test here)

from regard.kernels import additive_triton
from regard.kernels.additive_triton import TILES, Tiles
from regard.kernels.exponents_triton import BOUND, FOURFOLD, NEAR, exponents
from regard.kernels.mask import MaskSpec
from regard.kernels.mask_triton import arguments

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")  # the interpreter's numpy speaks of overflow
eps = torch.finfo(torch.float32).eps
# Largest |q|, largest |k|, and how many factors may share a reciprocal: 0 is a plain tanh.
ranges = [
    *((4.0, 4.0, 4), (5.25, 5.25, 4), (0.5, 1.0, 4), (9.5, 1e-4, 4)),
    *((5.25, 5.3, 2), (20.0, 1.0, 2), (10.5, 10.5, 2)),
    *((10.5, 10.6, 0), (60.0, 60.0, 0), (1e4, 1.0, 0), (0.7, 0.7, 0), (1e-3, 1e-3, 0), (1e-20, 0.0, 0)),
]
inputs = partial(of_sizes, [(large_q, large_k) for large_q, large_k, _ in ranges])  # a batch row for each


def scores(q: Tensor, k: Tensor, w: Tensor, tile: Tiles = TILES, spec: MaskSpec | None = None) -> Tensor:
    seen = arguments(spec or MaskSpec(), q.shape[1], k.shape[1])
    ready = exponents(q, k, w)
    return additive_triton._scores(ready, q, k, w, None, seen, 0, q.shape[1], tile)[:, :, : k.shape[1]]


def test_the_ranges_are_those_of_the_kernels() -> None:
    for large_q, large_k, factors in ranges:
        size = torch.tensor(large_q) + torch.tensor(large_k)
        expected = 4 if size <= FOURFOLD.value else 2 if size <= BOUND.value else 0
        assert factors == (expected if size >= NEAR.value else 0)


@pytest.mark.parametrize(
    ("width", "tile"),
    sweep_but(
        [
            *((width, TILES) for width in (1, 8, 21)),
            *((11, Tiles(queries=16, keys=64, far=(64, 16, 4), anchor=False, together=most)) for most in (0, 2**28)),
        ],
        (8, TILES),
    ),
)
def test_scores_in_every_range(width: int, tile: Tiles) -> None:
    q, k, w = inputs(width=width)
    found = scores(q, k, w, tile)
    terms = w.double() * torch.tanh(q.double()[:, :, None] + k.double()[:, None])
    off = (found.double() - terms.sum(-1)).abs()
    for row, (_, _, factors) in enumerate(ranges):
        # 1 - 2r is exact to some units of 1; a plain tanh to some units of its own, however small that is.
        sizes = w.double().abs().sum() if factors else terms[row].abs().sum(-1)
        assert (off[row] <= 4 * eps * sizes + 1e-40).all(), (ranges[row], float((off[row] / sizes).max() / eps))


weights = {  # and whether they can be folded into the factors
    "as small as may be": ([1.0, -(2.0**-16), 2.0**-16, 2.0**-16, 2.0**-16, -1.0, 0.3, 2.0**-16, 2.0**-16], True),
    "too small": ([1.0, 0.5, 0.9 * 2.0**-16, -1.0, 0.25, 0.1, 0.2, 0.3, 1.0], False),
    "one is nothing": ([1.0, 0.0, -1.0, 0.5, 0.25, 0.1, 0.2, 0.3, 1.0], False),
    "all are nothing": ([0.0] * 9, False),
    "tiny": ([1e-25 * (-1) ** i * (i + 1) for i in range(9)], True),
    "next to nothing": ([1e-38 * (i + 1) for i in range(9)], False),
    "huge": ([1e25 * (-1) ** i * (i + 1) for i in range(9)], True),
    "no number": ([1.0, float("nan"), *[0.5] * 7], False),
    "endless": ([float("inf"), *[0.5] * 8], False),
}


@pytest.mark.parametrize("name", sweep_but(weights, "as small as may be", "too small"))
def test_weights_are_folded_into_the_factors_where_they_can_be(name: str) -> None:
    torch.manual_seed(0)
    numbers, fold = weights[name]
    q, k, _ = inputs(width=9)
    q[1], k[1] = 5.25, 5.25  # every factor as large as may be
    some = [0, 1, 6, 8]  # four factors, two, and none
    q, k, w = q[some], k[some], torch.tensor(numbers)
    ready = exponents(q, k, w)
    table = ready.plan.launch.apart(ready.data)[2]
    assert table is not None
    assert (table[17] > 0).item() is fold
    found = scores(q, k, w)
    if not w.isfinite().all():
        assert not found[:3].isfinite().any()
        return
    terms = w.double() * torch.tanh(q.double()[:, :, None] + k.double()[:, None])
    off = (found.double() - terms.sum(-1)).abs()
    for row, which in enumerate(some):
        sizes = w.double().abs().sum() if ranges[which][2] else terms[row].abs().sum(-1)
        assert (off[row] <= 4 * eps * sizes + 1e-40).all(), (ranges[which], float((off[row] / sizes).max() / eps))


@pytest.mark.parametrize("sign", sweep_but(["mixed", "positive"], "mixed"))
def test_a_long_sum_of_plain_tanhs_keeps_its_digits(sign: str) -> None:
    torch.manual_seed(0)
    q, k, w = 30 * torch.randn(1, 9, 515), 30 * torch.randn(1, 20, 515), torch.randn(515)
    w = w.abs() if sign == "positive" else w
    exact = torch.tanh(q.double()[:, :, None] + k.double()[:, None]) @ w.double()
    off = (scores(q, k, w).double() - exact).square().mean().sqrt()
    assert off <= 2 * eps * exact.square().mean().sqrt()  # one sum after the other: more than 3


@pytest.mark.parametrize("which", [0, 1])
@pytest.mark.sweep
def test_each_range_is_one_kernel_s(monkeypatch: pytest.MonkeyPatch, which: int) -> None:
    """One writes what four factors serve, the other all else, and neither touches the other's."""
    plan = additive_triton._plan

    def only(*given):  # type: ignore[no-untyped-def]
        found = plan(*given)
        assert len(found.scores) == 2
        return found._replace(scores=(found.scores[which],))

    monkeypatch.setattr(additive_triton, "_plan", only)
    written = ~scores(*inputs(width=3), tile=Tiles(together=0)).isnan()
    for row, (_, _, factors) in enumerate(ranges):
        assert written[row].all() if (factors == 4) == (which == 0) else not written[row].any()


def test_small_work_takes_one_launch() -> None:
    q, k, w = inputs(width=3)
    q, k = q[[0, 4, 7]], k[[0, 4, 7]]  # four factors, two and none
    seen = arguments(MaskSpec(), 9, 37)
    pairs_and_features = 3 * 9 * 37 * 3
    counts = []
    for most in (pairs_and_features, pairs_and_features - 1):
        plan = additive_triton._planned(q, k, 1, None, seen, 0, 9, torch.float32, 0.0, Tiles(together=most))
        counts.append(len(plan.scores))
    assert counts == [1, 2]
    both = [scores(q, k, w, Tiles(together=most)) for most in (0, 2**28)]
    torch.testing.assert_close(*both, rtol=0, atol=0)


def test_a_row_that_holds_no_number_is_the_plain_tanh_s() -> None:
    q, k, w = inputs(width=5)
    q, k = q[:2], k[:2]
    q[0, 3, 2], k[1, 5, 4] = float("nan"), float("inf")
    found = scores(q, k, w)
    exact = (w.double() * torch.tanh(q.double()[:, :, None] + k.double()[:, None])).sum(-1)
    assert found[0].isnan().all(-1).tolist() == [False] * 3 + [True] + [False] * 5
    assert not found[1].isnan().any()
    torch.testing.assert_close(found.double(), exact, rtol=0, atol=1e-5, equal_nan=True)


def test_what_is_hidden_is_minus_infinity() -> None:
    q, k, w = inputs(queries=37, width=3)
    some = [0, 4, 7]  # one of each kind
    found = scores(q[some], k[some], w, spec=MaskSpec(pattern="forward", lengths=torch.full((3,), 20)))
    seen = (torch.arange(37)[None, :] < torch.arange(37)[:, None]) & (torch.arange(37) < 20)
    assert found.isfinite()[:, seen].all()
    assert (found[:, ~seen] == float("-inf")).all()
