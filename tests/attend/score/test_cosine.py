"""Cosine: e = τ q·k / (‖q‖‖k‖)."""

import pytest
import torch
from torch.testing import assert_close

from regard.attend.score.cosine import Cosine
from regard.errors import RegardError


def scores(score: Cosine, q: torch.Tensor, k: torch.Tensor) -> torch.Tensor:
    return score.scores(score.project(q), score.prepare(k))


def test_a_number_by_hand() -> None:
    score = Cosine(query=2, key=2, temperature=5.0)
    q = torch.tensor([[[3.0, 4.0]]])
    k = torch.tensor([[[1.0, 0.0], [8.0, 6.0], [-6.0, -8.0]]])
    # 5·3/(5·1) = 3;  5·(24 + 24)/(5·10) = 4.8;  opposite: 5·(−1) = −5
    assert_close(scores(score, q, k), torch.tensor([[[3.0, 4.8, -5.0]]]))


def test_lengths_do_not_matter() -> None:
    score = Cosine(query=4, key=4)
    q, k = torch.randn(2, 3, 4), torch.randn(2, 5, 4)
    assert_close(scores(score, 1000 * q, 0.01 * k), scores(score, q, k))


def test_it_is_bounded_by_the_temperature() -> None:
    score = Cosine(query=3, key=3, temperature=2.5)
    found = scores(score, 50 * torch.randn(4, 30, 3), torch.randn(4, 30, 3))
    assert found.abs().max() <= 2.5 + 1e-5
    assert found.abs().max() > 2.0  # and comes near it


def test_the_temperature_is_learned() -> None:
    score = Cosine(query=3, key=3, temperature=2.0).double()
    q, k = torch.randn(1, 2, 3).double(), torch.randn(1, 4, 3).double()
    found = scores(score, q, k)
    (slope,) = torch.autograd.grad(found.sum(), score.log_temperature)
    assert_close(slope, found.sum())  # d(e^t c)/dt = e^t c


def test_a_vector_of_zeros_is_no_accident() -> None:
    score = Cosine(query=3, key=3)
    q, k = torch.randn(1, 2, 3, requires_grad=True), torch.zeros(1, 4, 3, requires_grad=True)
    found = scores(score, q, k)
    assert found.abs().max() == 0
    found.sum().backward()
    assert q.grad is not None
    assert k.grad is not None
    assert q.grad.isfinite().all()
    assert k.grad.isfinite().all()


def test_sizes_must_agree() -> None:
    with pytest.raises(RegardError, match="cosine got queries of size 3 and keys of size 4"):
        Cosine(query=3, key=4)


@pytest.mark.parametrize("temperature", [0.0, -1.0])
def test_the_temperature_is_positive(temperature: float) -> None:
    with pytest.raises(RegardError, match=f"temperature: got {temperature}; expected a number from"):
        Cosine(query=3, key=3, temperature=temperature)
