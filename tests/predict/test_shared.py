"""A linear map shared by many steps: the same numbers and gradients as the plain one."""

import gc
import weakref

import pytest
import torch
from torch import nn
from torch.autograd import gradcheck
from torch.testing import assert_close

from regard.predict.shared import Shared


def run(linear: nn.Linear, x: torch.Tensor, shared: bool) -> torch.Tensor:
    """Three steps, each from the one before; the second's result is not used, as a last state may not be."""
    turn = Shared(linear.weight, linear.bias) if shared else linear
    turn(x * 2)
    for _ in range(3):
        x = torch.tanh(turn(x))
    return x


def test_a_number_worked_by_hand() -> None:
    # y = 2x + 1 twice from x = 3: 7, then 15. d/dw: 15 = w(3w + b) + b, so 2·3·w + b = 12 + 1 = 13; d/db: w + 1 = 3.
    weight = torch.tensor([[2.0]], requires_grad=True)
    bias = torch.tensor([1.0], requires_grad=True)
    turn = Shared(weight, bias)
    turn(turn(torch.tensor([[3.0]]))).sum().backward()
    assert weight.grad is not None
    assert bias.grad is not None
    assert (weight.grad.item(), bias.grad.item()) == (13.0, 3.0)


@pytest.mark.parametrize("inputs_learn", [True, False])
def test_gradients_are_the_plain_ones(inputs_learn: bool) -> None:
    linear = nn.Linear(4, 4).double()
    x = torch.randn(5, 4, dtype=torch.float64, requires_grad=inputs_learn)
    wanted = [linear.weight, linear.bias, *([x] if inputs_learn else [])]
    plain, shared = run(linear, x, False), run(linear, x, True)
    assert_close(shared, plain)
    pull = torch.randn_like(plain)
    for a, b in zip(*(torch.autograd.grad(y, wanted, pull) for y in (plain, shared)), strict=True):
        assert_close(a, b)


def test_gradcheck() -> None:
    linear = nn.Linear(3, 3).double()
    x = torch.randn(2, 3, dtype=torch.float64, requires_grad=True)
    assert gradcheck(lambda *_: run(linear, x, True), (x, linear.weight, linear.bias))


def test_going_back_twice_does_not_count_twice() -> None:
    linear = nn.Linear(3, 3).double()
    y = run(linear, torch.randn(2, 3, dtype=torch.float64), True).sum()
    first = torch.autograd.grad(y, linear.weight, retain_graph=True)[0]
    assert_close(torch.autograd.grad(y, linear.weight)[0], first)


def test_it_is_freed_after_the_backward_pass() -> None:
    """Else every step of a training would leave its graph behind."""
    linear = nn.Linear(3, 3)
    turn = Shared(linear.weight, linear.bias)
    turn(torch.ones(2, 3)).sum().backward()
    kept = weakref.ref(turn)
    del turn
    gc.collect()
    assert kept() is None


def test_without_gradients_it_is_the_map_itself() -> None:
    linear, x = nn.Linear(3, 2), torch.randn(4, 3)
    with torch.no_grad():
        turn = Shared(linear.weight, linear.bias)
        assert torch.equal(turn(x), linear(x))
    assert turn.steps == []
