"""Distance: how far, not which way."""

import torch

from regard.predict.match.distance import Distance


def test_by_hand() -> None:
    """u = (1, 2), v = (3, −1): |u − v| = (2, 3), u ⊙ v = (3, −2)."""
    part = Distance(inputs=2)
    found = part(torch.tensor([[1.0, 2.0]]), torch.tensor([[3.0, -1.0]]))
    assert found.tolist() == [[1.0, 2.0, 3.0, -1.0, 2.0, 3.0, 3.0, -2.0]]
    assert part.size == 8
    assert not list(part.parameters())
