"""Sparsemax: the nearest point of the simplex."""

from itertools import combinations

import torch
from torch import Tensor
from torch.testing import assert_close

from regard.attend.normalizer.sparsemax import Sparsemax


def normalizer(scores: Tensor, mask: Tensor | None = None) -> Tensor:
    weights = Sparsemax()(scores, mask).soft
    assert weights is not None
    return weights


def nearest(scores: Tensor) -> Tensor:
    """The projection onto the simplex by trying every set of keys that could carry weight."""
    keys, best = len(scores), None
    for size in range(1, keys + 1):
        for chosen in combinations(range(keys), size):
            # On a set S the nearest point of {Σ p = 1} moves every coordinate by the same amount.
            p = torch.zeros_like(scores)
            p[list(chosen)] = scores[list(chosen)] - (scores[list(chosen)].sum() - 1) / size
            if p.min() >= 0 and (best is None or (p - scores).norm() < (best - scores).norm()):
                best = p
    assert best is not None
    return best


def test_a_number_by_hand() -> None:
    # With two keys carrying weight τ = (1 + 0.8 − 1)/2 = 0.4, so p = (0.6, 0.4); the third, 0.1 < τ, gets 0.
    assert_close(normalizer(torch.tensor([1.0, 0.8, 0.1])), torch.tensor([0.6, 0.4, 0.0]))
    # The first one hidden: τ = (0.8 + 0.1 − 1)/2 = −0.05, p = (0.85, 0.15)
    seen = torch.tensor([False, True, True])
    assert_close(normalizer(torch.tensor([1.0, 0.8, 0.1]), seen), torch.tensor([0.0, 0.85, 0.15]))


def test_it_is_the_projection_by_brute_force() -> None:
    scores = torch.randn(40, 5).double()
    assert_close(normalizer(scores), torch.stack([nearest(row) for row in scores]))


def test_under_a_mask_it_is_the_projection_of_what_is_visible() -> None:
    scores, mask = torch.randn(40, 5).double(), torch.rand(40, 5) < 0.6
    mask[:, 2] = True
    weights = normalizer(scores, mask)
    assert (weights[~mask] == 0).all()
    for row, (seen, found) in zip(scores, zip(mask, weights, strict=True), strict=True):
        assert_close(found[seen], nearest(row[seen]))


def test_zeros_are_exact_and_frequent() -> None:
    weights = normalizer(2 * torch.randn(50, 8))
    assert (weights == 0).float().mean() > 0.5
    assert_close(weights.sum(-1), torch.ones(50))


def test_a_point_of_the_simplex_stays_where_it_is() -> None:
    p = torch.softmax(torch.randn(10, 4).double(), dim=-1)
    assert_close(normalizer(p), p)


def test_large_scores_under_a_mask() -> None:
    """Scores are only compared: a common height, even a great one, changes nothing."""
    scores = torch.tensor([[1.0, 0.75, 0.0, 5.0]]).double()
    mask = torch.tensor([[True, True, True, False]])
    assert_close(normalizer(scores + 1e9, mask), normalizer(scores, mask))
    assert_close(normalizer(scores - 1e9, mask), normalizer(scores, mask))
