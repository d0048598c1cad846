"""Identity: the input as it is, and its mean as the summary."""

import torch

from regard.encode.identity import Identity
from regard.types import Sequences


def test_by_hand() -> None:
    values = torch.tensor([[[1.0, 2.0], [3.0, 6.0], [9.0, 9.0]]])
    mask = torch.tensor([[True, True, False]])
    memory = Identity(inputs=2)(Sequences(values, mask, torch.tensor([2])))
    assert memory.values.tolist() == [[[1.0, 2.0], [3.0, 6.0], [0.0, 0.0]]]
    assert memory.summary is not None
    assert memory.summary.tolist() == [[2.0, 4.0]]  # of the two that are there
