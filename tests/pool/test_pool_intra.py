"""Intra-attention: the mean of the states is the query."""

from math import exp, tanh

import pytest
import torch

from regard.pool.intra import Intra
from regard.types import Memory


def test_by_hand() -> None:
    """States 2 and 0, mean 1, W_k = 1, W_q = −1, b = 0: scores tanh 1 and tanh −1, so a₁ = σ(2 tanh 1) = 0.82101."""
    part = Intra(inputs=1, hidden=1)
    score = part.attention.score
    with torch.no_grad():
        score.W_k.weight.fill_(1.0)
        score.W_q.weight.fill_(-1.0)
        score.W_q.bias.zero_()
        score.w.fill_(1.0)
    values = torch.tensor([[[2.0], [0.0], [30.0]]])
    pooled = part(Memory(values, values, torch.tensor([[True, True, False]])))
    first = 1 / (1 + exp(-2 * tanh(1)))
    assert pooled.look is not None
    assert pooled.look.weights.flatten().tolist() == pytest.approx([first, 1 - first, 0.0], abs=1e-6)
    assert pooled.vector.item() == pytest.approx(1.64201, abs=1e-5)


def test_a_sentence_asks_for_itself() -> None:
    """Another word beside them changes how two words weigh against each other, for the mean is another."""
    part, words = Intra(inputs=4, hidden=5), torch.randn(1, 3, 4)
    two, three = (part(Memory(words[:, :n], words[:, :n])).look.weights[0, 0] for n in (2, 3))
    assert not torch.isclose(two[0] / two[1], three[0] / three[1], rtol=1e-3)
