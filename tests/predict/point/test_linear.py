"""Linear pointer: its scores by hand."""

import torch

from regard.predict.point.linear import Linear


def test_by_hand() -> None:
    one = Linear(inputs=1)
    with torch.no_grad():
        one.W.weight.copy_(torch.tensor([[2.0], [-1.0]]))
        one.W.bias.copy_(torch.tensor([1.0, 0.0]))
    found = one(torch.tensor([[[1.0], [3.0], [9.0]]]), torch.tensor([[True, True, False]]))
    assert found.start[0, 0, :2].tolist() == [3.0, 7.0]
    assert found.end[0, 0, :2].tolist() == [-1.0, -3.0]
    assert found.path.tolist() == [[[1, 0]]]
