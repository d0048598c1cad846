"""The moving average by hand, and the swap that leaves no trace."""

import pytest
import torch
from torch import nn

from regard.train.ema import Ema


def small(value: float) -> nn.Linear:
    model = nn.Linear(1, 1)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.fill_(value)
    return model


def set_to(model: nn.Module, value: float) -> None:
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.fill_(value)


def test_by_hand() -> None:
    """θ̄₀ = 1; d₁ = 2/11 and d₂ = 3/12, both below the 0.9 that is asked for."""
    model = small(1.0)
    average = Ema(model, decay=0.9)
    set_to(model, 2.0)
    average.update(1)
    first = 2 / 11 * 1 + 9 / 11 * 2
    assert average.mean["weight"].item() == pytest.approx(first)
    set_to(model, 4.0)
    average.update(2)
    assert average.mean["bias"].item() == pytest.approx(0.25 * first + 0.75 * 4)
    assert model.weight.item() == 4.0  # the weights themselves are not touched


def test_later_the_decay_is_the_one_asked_for() -> None:
    model = small(0.0)
    average = Ema(model, decay=0.5)
    set_to(model, 8.0)
    average.update(1000)
    assert average.mean["weight"].item() == 4.0


def test_applied_swaps_and_restores_bit_for_bit() -> None:
    model = nn.Sequential(nn.Linear(5, 7), nn.Linear(7, 3))
    average = Ema(model, decay=0.99)
    start = [p.detach().clone() for p in model.parameters()]
    for step in range(1, 4):
        with torch.no_grad():
            for parameter in model.parameters():
                parameter += torch.randn_like(parameter)
        average.update(step)
    live = [p.detach().clone() for p in model.parameters()]
    mean = {name: value.clone() for name, value in average.mean.items()}
    with average.applied():
        for name, parameter in model.named_parameters():
            assert torch.equal(parameter, mean[name])
    assert all(torch.equal(a, b) for a, b in zip(model.parameters(), live, strict=True))
    assert all(torch.equal(average.mean[name], mean[name]) for name in mean)
    assert not any(torch.equal(a, b) for a, b in zip(start, live, strict=True))


def test_the_weights_come_back_even_from_an_error() -> None:
    model = small(1.0)
    average = Ema(model, decay=0.9)
    set_to(model, 2.0)

    def broken() -> None:
        with average.applied():
            assert model.weight.item() == 1.0
            raise KeyError

    with pytest.raises(KeyError):
        broken()
    assert model.weight.item() == 2.0
    assert average.mean["weight"].item() == 1.0


def test_no_decay_is_the_weights_themselves() -> None:
    model = small(1.0)
    average = Ema(model, decay=0.0)
    set_to(model, 2.0)
    average.update(1)
    assert average.mean == {}
    with average.applied():
        assert model.weight.item() == 2.0
