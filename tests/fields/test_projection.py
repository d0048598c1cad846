"""Projection of features."""

import torch

from regard.fields.embed.projection import Projection
from regard.types import Sequences


def test_a_number_by_hand() -> None:
    """Position 3 of a grid of 2 × 2 is row 1, column 1: 2·3 + 1, 10 for the row and 0.5 for the column."""
    part = Projection(channels=1, rows=2, columns=2, dim=1)
    with torch.no_grad():
        part.linear.weight.fill_(2.0)
        part.linear.bias.fill_(1.0)
        part.row.copy_(torch.tensor([[0.0], [10.0]]))
        part.column.copy_(torch.tensor([[0.0], [0.5]]))
    features = Sequences(torch.tensor([[[0.0], [1.0], [2.0], [3.0]]]), torch.ones(1, 4) > 0, torch.tensor([4]))
    assert part(features).values.flatten().tolist() == [1.0, 3.5, 15.0, 17.5]
    assert part.size == 1
