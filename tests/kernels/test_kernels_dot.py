"""The fused dot product against `softmax(scale · q kᵀ + bias) v` written out."""

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from regard.kernels.dot import dot_attention, hidden


def written_out(
    q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, bias: Tensor | None, scale: float
) -> tuple[Tensor, Tensor]:
    scores = scale * torch.einsum("...qd,...kd->...qk", q, k)
    scores = scores if bias is None else scores + bias
    weights = scores.exp() if mask is None else scores.exp() * mask
    total = weights.sum(-1, keepdim=True)
    weights = weights / total.where(total > 0, torch.ones_like(total))
    return weights @ v, weights


def test_a_number_by_hand() -> None:
    q, k = torch.tensor([[[2.0]]]), torch.tensor([[[0.0], [1.0], [5.0]]])
    v = torch.tensor([[[1.0, 0.0], [0.0, 4.0], [100.0, 100.0]]])
    # ½ · 2 · (0, 1) = (0, 1), the third hidden: weights (1, e)/(1 + e) = (0.268941, 0.731059)
    answer = dot_attention(q, k, v, torch.tensor([[[True, True, False]]]), scale=0.5)
    assert_close(answer, torch.tensor([[[0.268941, 4 * 0.731059]]]), atol=1e-5, rtol=0)
    # With a bias of (1, 0) both scores are 1 and the weights ½.
    bias = torch.tensor([[1.0, 0.0, 0.0]])
    answer = dot_attention(q, k, v, torch.tensor([[[True, True, False]]]), bias, scale=0.5)
    assert_close(answer, torch.tensor([[[0.5, 2.0]]]))


@pytest.mark.parametrize("shape", [(3, 1, 1, 5), (3, 1, 4, 5), (3, 2, 4, 8)])
def test_a_mask_prepared_once_hides_what_the_mask_hides(shape: tuple[int, ...]) -> None:
    q, k, v = (torch.randn(3, 2, time, 6, requires_grad=True) for time in (4, shape[-1], shape[-1]))
    mask = torch.rand(shape) < 0.6
    mask[0] = False  # queries that see nothing: they look at everything
    mask[1:, ..., 2] = True
    hiding = hidden(mask, like=q)
    assert hiding.shape == shape
    assert all(stride % 8 == 0 for stride in hiding.stride()[:-1])
    found = dot_attention(q, k, v, mask, scale=0.7, hiding=hiding)
    expected, _ = written_out(q, k, v, torch.cat([torch.ones_like(mask[:1]), mask[1:]]), None, scale=0.7)
    assert_close(found, expected, atol=1e-5, rtol=1e-5)
    upstream = torch.randn_like(found)
    for one, other in zip(
        torch.autograd.grad(found, (q, k, v), upstream), torch.autograd.grad(expected, (q, k, v), upstream), strict=True
    ):
        assert_close(one, other, atol=1e-5, rtol=1e-5)
    with torch.autocast("cpu", torch.bfloat16):
        assert hidden(mask, like=q).dtype == torch.bfloat16


@pytest.mark.parametrize("biased", ["none", "shared", "own"])
@pytest.mark.parametrize("masked", ["none", "keys", "queries"])
@pytest.mark.parametrize("lead", [(3,), (3, 2)])
def test_it_is_the_written_out_form_with_its_gradients(lead: tuple[int, ...], masked: str, biased: str) -> None:
    q, k, v = (torch.randn(*lead, *shape, requires_grad=True) for shape in ((4, 6), (5, 6), (5, 3)))
    ones = (1,) * (len(lead) - 1)
    mask = {"none": None, "keys": torch.rand(3, *ones, 1, 5) < 0.6, "queries": torch.rand(3, *ones, 4, 5) < 0.6}[masked]
    if mask is not None:
        mask[0, ..., 0, :] = False  # rows with nothing visible
        mask[1:, ..., 2] = True
    bias = {"none": None, "shared": torch.randn(4, 5), "own": torch.randn(*lead, 4, 5)}[biased]
    wanted = [q, k, v] if bias is None else [q, k, v, bias.requires_grad_()]
    found = dot_attention(q, k, v, mask, bias, scale=0.7)
    expected, _ = written_out(q, k, v, mask, bias, scale=0.7)
    assert found.shape == (*lead, 4, 3)
    assert_close(found, expected, atol=1e-5, rtol=1e-5)
    upstream = torch.randn_like(found)
    for one, other in zip(
        torch.autograd.grad(found, wanted, upstream), torch.autograd.grad(expected, wanted, upstream), strict=True
    ):
        assert_close(one, other, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_hidden_rows_are_zero_with_zero_gradients(dtype: torch.dtype) -> None:
    q, k, v = (torch.randn(2, 3, 4, dtype=dtype, requires_grad=True) for _ in range(3))
    mask = torch.tensor([[[False] * 3], [[True, True, False]]])
    answer = dot_attention(q, k, v, mask)
    assert answer.dtype == dtype
    assert (answer[0] == 0).all()
    answer.sum().backward()
    for x in (q, k, v):
        assert x.grad is not None
        assert x.grad.isfinite().all()
        assert (x.grad[0] == 0).all()
    assert v.grad is not None
    assert (v.grad[1, 2] == 0).all()
    assert v.grad[1, :2].abs().min() > 0


def test_hidden_keys_do_not_count() -> None:
    q, k, v = torch.randn(2, 3, 4), torch.randn(2, 5, 4), torch.randn(2, 5, 4)
    mask = torch.rand(2, 1, 5) < 0.5
    mask[..., 0] = True
    hidden = ~mask.squeeze(1).unsqueeze(-1)
    bias = torch.randn(3, 5)
    for term in (None, bias):
        answer = dot_attention(q, k, v, mask, term)
        other = dot_attention(q, k.masked_fill(hidden, 1e6), v.masked_fill(hidden, -1e6), mask, term)
        assert torch.equal(answer, other)
