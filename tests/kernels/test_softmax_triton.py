"""Softmax over padded rows in Triton, against PyTorch's."""

import os

import pytest
import torch
from torch import Tensor

from tiers import sweep_but

if not torch.cuda.is_available():
    os.environ["TRITON_INTERPRET"] = "1"  # read when the kernels are first imported
pytest.importorskip("triton")

from regard.kernels.softmax_triton import softmax_, softmax_backward, softmax_backward_plan

place = "cuda" if torch.cuda.is_available() else "cpu"
pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")


def backward(
    p: Tensor, dp: Tensor, keys: int, dropout: float = 0.0, seed: Tensor | None = None
) -> tuple[Tensor, Tensor, Tensor]:
    """The scores' gradient, the same turned, and the factors."""
    batch, queries = p.shape[:2]
    plan = softmax_backward_plan(batch, queries, queries, keys, 0, torch.float32, dropout)
    turned = torch.full((batch, keys, -(-queries // 128) * 128), float("nan"), device=place)
    slopes, factors = softmax_backward(p, dp, turned, torch.float32, dropout, seed, plan)
    return slopes, turned, factors


@pytest.mark.parametrize("keys", sweep_but([1, 30, 300, 2100], 1, 30))  # 2100: more than are read at once
def test_forward_and_backward(keys: int) -> None:
    stride = -(-keys // 128) * 128
    scores = torch.full((2, 7, stride), float("nan"), device=place)
    scores[:, :, :keys] = 5 * torch.randn(2, 7, keys, device=place)
    scores[:, :, : keys // 2] = float("-inf")
    scores[0, 3, :keys] = float("-inf")  # nothing visible
    scores[1, 2, keys - 1] = float("nan")
    wanted = scores[:, :, :keys].clone().double().requires_grad_()
    true = torch.softmax(wanted, -1)
    p = scores.clone()
    assert softmax_(p, keys, 7, 0, torch.float32, 0.0, None) is p
    found = p[:, :, :keys]
    assert (found[0, 3] == 0).all()
    assert found[1, 2, keys // 2 :].isnan().all()
    fine = torch.ones(2, 7, dtype=torch.bool, device=place)
    fine[0, 3] = fine[1, 2] = False
    torch.testing.assert_close(found[fine].double(), true[fine].detach(), rtol=1e-5, atol=1e-7)
    dp = torch.randn(2, 7, keys, device=place)
    slopes, turned, same = backward(p, dp, keys)
    assert same is p
    (expected,) = torch.autograd.grad(true[fine], wanted, dp[fine].double())
    torch.testing.assert_close(slopes[:, :, :keys][fine].double(), expected[fine], rtol=1e-4, atol=1e-6)
    assert (slopes[0, 3, :keys] == 0).all()
    torch.testing.assert_close(turned[:, :, :7], slopes[:, :, :keys].transpose(1, 2), rtol=0, atol=0, equal_nan=True)


@pytest.mark.parametrize("keys", sweep_but([2, 3, 30, 300, 2100], 3))
@pytest.mark.parametrize("dropout", [0.0, 0.5])  # 1 and 2 times: dP itself is not rounded
def test_what_the_keys_share_costs_no_digits(keys: int, dropout: float) -> None:
    """`dE = P (dP - D)` where dP - D is small beside dP, as it is in a row that sees few keys: dE is exact to the last
    digits of its own size, and sums to 0 over the keys, not only to the last digit of dP."""
    torch.manual_seed(keys)
    p = torch.full((2, 20, -(-keys // 128) * 128), float("nan"), device=place)
    p[:, :, :keys] = 2 * torch.randn(2, 20, keys, device=place)
    seed = torch.tensor([5], device=place)
    kept = softmax_(p, keys, 20, 0, torch.float32, dropout, seed)[:, :, :keys] != 0
    dp = (100 + torch.randn(2, 20, keys, device=place)) * (1 - dropout)
    pulled = torch.where(kept, dp.double() / (1 - dropout), 0.0)
    weights = p[:, :, :keys].double()
    weights = weights / weights.sum(-1, keepdim=True)
    exact = weights * (pulled - (weights * pulled).sum(-1, keepdim=True))
    found = backward(p, dp, keys, dropout, seed)[0][:, :, :keys].double()
    size = exact.abs().sum(-1, keepdim=True)
    assert ((found - exact).abs() <= 1e-6 * size).all()
    assert (found.sum(-1, keepdim=True).abs() <= 1e-6 * size).all()


def test_a_piece_drops_what_the_whole_drops() -> None:
    scores = torch.randn(2, 9, 128, device=place)
    seed = torch.tensor([11], device=place)
    whole = softmax_(scores.clone(), 100, 9, 0, torch.float32, 0.5, seed)
    piece = softmax_(scores[:, 4:].clone(), 100, 9, 4, torch.float32, 0.5, seed)
    assert torch.equal(whole[:, 4:, :100], piece[:, :, :100])
    assert abs(float((whole[:, :, :100] == 0).float().mean()) - 0.5) < 0.05
    other = softmax_(scores.clone(), 100, 9, 0, torch.float32, 0.5, seed + 1)
    assert not torch.equal(other[:, :, :100] == 0, whole[:, :, :100] == 0)


@pytest.mark.parametrize("keys", sweep_but([128, 2176], 128))
@pytest.mark.parametrize("dropout", [0.0, 0.5])
def test_the_gradient_takes_the_place_of_what_it_came_from(keys: int, dropout: float) -> None:
    p, seed = torch.randn(1, 9, keys, device=place), torch.tensor([3], device=place)
    softmax_(p, keys, 9, 0, torch.float32, 0.0, None)
    dp = torch.randn(1, 9, keys, device=place)
    cut = dp[:, :, :-1].clone()  # where rows are padded dP has another shape, and stays
    kept = cut.clone()
    apart, _, _ = backward(p, cut, keys - 1, dropout, seed)
    assert torch.equal(cut, kept)
    p[:, :, -1] = 0.0  # a key that is hidden changes nothing
    slopes, turned, _ = backward(p, dp, keys, dropout, seed)
    assert slopes is dp
    assert torch.equal(slopes[:, :, :-1], apart[:, :, : keys - 1])
    assert torch.equal(turned[:, :, :9], slopes.transpose(1, 2))
