"""The penalty on looking back: by hand, and under padding."""

import pytest
import torch

from regard.networks.monotonic import monotonic
from regard.types import Look, Memory


def test_a_number_by_hand() -> None:
    """Mean positions 0, 2, 1 and 0 of three: back by 1 and by 1, each a third; the last step is not there."""
    weights = torch.tensor([[[1.0, 0, 0], [0, 0, 1.0], [0.5, 0, 0.5], [1.0, 0, 0]]])
    values = torch.zeros(1, 3, 1)
    for said, wanted in (([1, 1, 1, 1], 2 / 3), ([1, 1, 1, 0], 1 / 3)):
        look = Look(weights[..., :1], lambda: weights)
        found = monotonic(look, torch.tensor([said]).bool(), Memory(values, values))
        assert found.tolist() == pytest.approx([wanted])
    mask = torch.tensor([[True, True, False]])
    found = monotonic(look, torch.ones(1, 4).bool(), Memory(values, values, mask))
    assert found.tolist() == pytest.approx([1.0])  # of two positions
