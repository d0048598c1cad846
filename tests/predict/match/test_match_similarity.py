"""Similarity: by hand, and the same whichever sentence comes first."""

import torch

from regard.predict.match.similarity import Similarity


def test_a_number_by_hand() -> None:
    u, v = torch.tensor([[1.0, -2.0]]), torch.tensor([[3.0, 4.0]])
    assert Similarity(inputs=2)(u, v).tolist() == [[2.0, 6.0, 3.0, -8.0]]


def test_it_is_symmetric() -> None:
    u, v = torch.randn(3, 5), torch.randn(3, 5)
    match = Similarity(inputs=5)
    assert match.size == 10
    assert torch.equal(match(u, v), match(v, u))
