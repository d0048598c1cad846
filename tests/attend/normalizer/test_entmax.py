"""α-entmax: argmax_p pᵀe + H_α(p)."""

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from regard.attend.normalizer.entmax import Entmax
from regard.attend.normalizer.sparsemax import Sparsemax
from regard.errors import RegardError


def normalizer(scores: Tensor, alpha: float, mask: Tensor | None = None) -> Tensor:
    weights = Entmax(alpha=alpha)(scores, mask).soft
    assert weights is not None
    return weights


def test_a_number_by_hand() -> None:
    # α = 1.5: p = [e/2 − τ]₊². With τ = −0.6: (0.2 + 0.6)² = 0.64, (0 + 0.6)² = 0.36, sum 1; [−0.7 + 0.6]₊ = 0.
    scores = torch.tensor([0.4, 0.0, -1.4])
    assert_close(normalizer(scores, 1.5), torch.tensor([0.64, 0.36, 0.0]))
    # The second one hidden, the third raised into its place.
    seen = torch.tensor([True, False, True])
    assert_close(normalizer(torch.tensor([0.4, 9.0, 0.0]), 1.5, seen), torch.tensor([0.64, 0.0, 0.36]))


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("alpha", [1.2, 1.5, 1.7, 2.0, 3.0])
def test_nothing_on_the_simplex_does_better(alpha: float, masked: bool) -> None:
    scores = torch.randn(20, 4).double()
    mask = torch.ones(20, 4, dtype=torch.bool)
    if masked:
        mask[::2, 1] = False

    def objective(p: Tensor) -> Tensor:
        tsallis = (p - p**alpha).sum(-1) / (alpha * (alpha - 1))
        return (p * scores).sum(-1) + tsallis

    weights = normalizer(scores, alpha, mask if masked else None)
    assert_close(weights.sum(-1), torch.ones(20).double())
    best = objective(weights)
    for _ in range(300):
        other = torch.distributions.Dirichlet(torch.ones(4).double()).sample((20,)) * mask
        other = other / other.sum(-1, keepdim=True)
        mixed = 0.95 * weights + 0.05 * other  # also very near
        assert (objective(other) <= best + 1e-9).all()
        assert (objective(mixed) <= best + 1e-9).all()


@pytest.mark.parametrize("masked", [False, True])
def test_near_one_it_is_softmax_and_at_two_sparsemax(masked: bool) -> None:
    scores, mask = torch.randn(30, 6).double(), torch.rand(30, 6) < 0.7
    mask[:, 0] = True
    hide = ~mask if masked else torch.zeros_like(mask)
    seen = mask if masked else None
    softmax = torch.softmax(scores.masked_fill(hide, float("-inf")), dim=-1)
    assert (normalizer(scores, 1.001, seen) - softmax).abs().max() < 2e-3
    sparsemax = Sparsemax()(scores, seen).soft
    assert sparsemax is not None
    assert_close(normalizer(scores, 2.0, seen), sparsemax)
    # The exact forms and the bisection hold each other.
    assert_close(normalizer(scores, 1.5, seen), normalizer(scores, 1.5 + 1e-9, seen), atol=1e-6, rtol=0)
    assert_close(normalizer(scores, 2.0, seen), normalizer(scores, 2.0 + 1e-9, seen), atol=1e-6, rtol=0)


def test_a_higher_alpha_is_sparser() -> None:
    scores = torch.randn(100, 10).double()
    counts = [(normalizer(scores, alpha) > 0).sum().item() for alpha in (1.1, 1.5, 2.0, 4.0)]
    assert counts == sorted(counts, reverse=True)
    assert counts[0] > counts[-1]


@pytest.mark.parametrize("alpha", [1.001, 1.3, 1.5, 2.0])
def test_hidden_keys_get_exactly_nothing(alpha: float) -> None:
    scores = torch.randn(30, 6)
    mask = torch.rand(30, 6) < 0.5
    mask[0], mask[1:, 0] = False, True
    weights = normalizer(scores.masked_fill(~mask, 1e6), alpha, mask)
    assert (weights[~mask] == 0).all()
    assert_close(weights[1:].sum(-1), torch.ones(29))
    assert_close(weights, normalizer(scores, alpha, mask))


@pytest.mark.parametrize("alpha", [1.0, 0.5, 11.0, -1.0])
def test_alphas_that_cannot_be(alpha: float) -> None:
    with pytest.raises(RegardError, match=f"alpha: got {alpha}"):
        Entmax(alpha=alpha)
