"""The gradients of additive attention against tanh in float64, in each range of |q| + |k|: two factors of one
reciprocal, and a plain tanh for what is beyond them, tiny, or no number."""

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
from regard.kernels.additive_triton import Tiles
from regard.kernels.exponents_triton import WIDE, padded
from regard.kernels.mask import MaskSpec
from regard.kernels.mask_triton import arguments

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")  # the interpreter's numpy speaks of overflow
eps = torch.finfo(torch.float32).eps
# Largest |q| and largest |k|: a tile's own size and that of the others in its batch row choose the formula.
ranges = [
    *((4.0, 4.0), (0.5, 1.0), (9.5, 1e-4), (20.0, 1.0), (10.5, 10.5)),
    *((10.5, 10.6), (60.0, 60.0), (1e4, 1.0), (0.7, 0.7), (1e-3, 1e-3), (1e-20, 0.0)),
]
inputs = partial(of_sizes, ranges)  # a batch row for each


def gradient(
    q: Tensor, k: Tensor, w: Tensor, slopes: Tensor, of_keys: bool, tile: Tiles | None = None
) -> tuple[Tensor, Tensor | None]:
    """That of the keys, or that of the queries and w."""
    (batch, queries, _), keys = q.shape, k.shape[1]
    seen = arguments(MaskSpec(), queries, keys)
    plan = additive_triton._pull_plan(
        q.shape, keys, 0, queries, seen.numbers, torch.float32, 0.0, tile or additive_triton.TILES, q.dtype
    )
    work = torch.empty(plan.numbers)
    turned = work[: batch * keys * padded(queries, WIDE)].view(batch, keys, -1)
    turned[:, :, :queries] = slopes.transpose(1, 2)
    ready = plan.powers[-1 if of_keys else 0]
    powers = work if len(plan.powers) == 1 else torch.empty(ready.numbers)
    ready.launch(powers, q, k)
    if of_keys:
        out, wide = torch.empty(k.shape), torch.zeros(batch, queries, padded(keys, WIDE))
        wide[:, :, :keys] = slopes
        plan.dk(powers, k, q, wide, w, out, None, None, None)
        return out, None
    out, sums = torch.empty(q.shape), torch.empty(plan.sums)
    plan.dq(powers, q, k, work, w, out, sums, None, None)
    return out, sums if sums.dim() == 1 else sums.sum(0)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("of_keys", [False, True])
@pytest.mark.parametrize("queries", sweep_but([10, 36], 10))  # a short tile and a large one; four a turn, and a rest
def test_gradients_in_every_range(queries: int, of_keys: bool, dtype: torch.dtype) -> None:
    """`dq = w Σ_k dE (1 − tanh²)`, `dw = Σ dE tanh`. A softmax's dE sum to 0 over the keys but for rounding: w's
    gradient must not rely on it, or it adds up what rounding left."""
    q, k, w = inputs(queries=queries, width=3)
    q, k = q.to(dtype), k.to(dtype)
    slopes = torch.randn(len(ranges), queries, 37)
    found, dw = gradient(q, k, w, slopes, of_keys)
    exact_q, exact_k, exact_w = (one.double().requires_grad_() for one in (q, k, w))
    e = (exact_w * torch.tanh(exact_q[:, :, None] + exact_k[:, None])).sum(-1)
    true_q, true_k, true_w = torch.autograd.grad((e * slopes.double()).sum(), (exact_q, exact_k, exact_w))
    for row in range(len(ranges)):
        true = (true_k if of_keys else true_q)[row]
        torch.testing.assert_close(found[row].double(), true, rtol=1e-4, atol=1e-5)
    if dw is not None:
        torch.testing.assert_close(dw.double(), true_w, rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize("of_keys", [False, True])
@pytest.mark.parametrize("width", [1, 5])
def test_a_slope_far_below_keeps_its_digits(of_keys: bool, width: int) -> None:
    """Where q + k is about −8 the slope 1 − tanh² is 4e^{−16}, less than a unit of the tanh's last place."""
    torch.manual_seed(0)
    q, k, w = torch.randn(2, 9, width) - 8, torch.randn(2, 23, width), torch.randn(width)
    slopes = torch.randn(2, 9, 23)
    found, dw = gradient(q, k, w, slopes, of_keys)
    z = q.double()[:, :, None] + k.double()[:, None]
    terms = slopes.double()[..., None] * w.double() / z.cosh().square()
    axis = 1 if of_keys else 2
    assert ((found.double() - terms.sum(axis)).abs() <= 8 * eps * terms.abs().sum(axis)).all()
    if dw is not None:
        true = (slopes.double()[..., None] * z.tanh()).sum((0, 1, 2))
        assert ((dw.double() - true).abs() <= 2 * eps * slopes.abs().sum()).all()


@pytest.mark.parametrize("of_keys", [False, True])
@pytest.mark.parametrize("width", sweep_but([5, 130], 5))
def test_small_and_large_work_give_the_same(of_keys: bool, width: int) -> None:
    """The powers of both sides behind the turned slopes, or those of one side in a tensor of their own."""
    q, k, w = inputs(queries=6, keys=5, width=width)
    q, k, slopes = q[:2], k[:2], torch.randn(2, 6, 5)
    found = [gradient(q, k, w, slopes, of_keys, Tiles(together=most)) for most in (2 * 30 * width, 0)]
    torch.testing.assert_close(*found, rtol=0, atol=0)
