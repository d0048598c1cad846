"""Gated product: e = hᵀ ReLU(W (q ⊙ k) + b)."""

import pytest
import torch
from torch.testing import assert_close

from regard.attend.score.gated_product import GatedProduct
from regard.errors import RegardError


def test_a_number_by_hand() -> None:
    score = GatedProduct(query=2, key=2, hidden=2)
    with torch.no_grad():
        score.W.copy_(torch.tensor([[1.0, 2.0], [0.0, -1.0]]))
        score.b.copy_(torch.tensor([0.5, 1.0]))
        score.h.copy_(torch.tensor([2.0, 3.0]))
    q = torch.tensor([[[1.0, 2.0]]])
    k = torch.tensor([[[3.0, 0.25], [-1.0, -1.0]]])
    # q ⊙ k₁ = (3, ½), W· + b = (4.5, 0.5), e₁ = 9 + 1.5;  q ⊙ k₂ = (−1, −2), W· + b = (−4.5, 3), e₂ = 0 + 9
    assert_close(score.scores(score.project(q), score.prepare(k)), torch.tensor([[[10.5, 9.0]]]))


def test_every_query_with_every_key() -> None:
    score = GatedProduct(query=3, key=3, hidden=5).double()
    with torch.no_grad():
        score.h.normal_()
    q, k = torch.randn(2, 4, 3).double(), torch.randn(2, 6, 3).double()
    inner = torch.einsum("ai,bqi,bki->bqka", score.W, q, k) + score.b
    assert_close(score.scores(q, k), (inner.clamp(min=0) * score.h).sum(-1))


def test_sizes_must_be_the_same() -> None:
    with pytest.raises(RegardError, match="gated_product got queries of size 2 and keys of size 3"):
        GatedProduct(query=2, key=3)
