"""First: the state of the first position, plain or through a layer with tanh."""

from math import tanh

import torch
from torch import nn

from regard.pool.first import First
from regard.types import Memory


def test_by_hand() -> None:
    values = torch.tensor([[[2.0], [5.0]], [[3.0], [7.0]]])
    memory = Memory(values, values, torch.tensor([[True, True], [False, False]]))
    assert First(1)(memory).vector.tolist() == [[2.0], [0.0]]  # nothing is there in the second
    dense = First(1, dense=True)
    assert dense.dense is not None
    nn.init.constant_(dense.dense.weight, 0.5)
    nn.init.constant_(dense.dense.bias, -0.25)
    torch.testing.assert_close(dense(memory).vector, torch.tensor([[tanh(0.75)], [tanh(-0.25)]]))
