"""Mean: of what is there, in sums that have room."""

import pytest
import torch

from regard.pool.mean import Mean, mean
from regard.types import Memory


def test_by_hand() -> None:
    """(1 + 3)/2 and (2 + 5)/2; the third token is padding."""
    values = torch.tensor([[[1.0, 2.0], [3.0, 5.0], [100.0, 100.0]]], requires_grad=True)
    pooled = Mean(inputs=2)(Memory(values, values, torch.tensor([[True, True, False]])))
    assert pooled.vector.tolist() == [[2.0, 3.5]]
    pooled.vector.sum().backward()
    assert values.grad is not None
    assert values.grad.tolist() == [[[0.5, 0.5], [0.5, 0.5], [0.0, 0.0]]]


@pytest.mark.parametrize("mask", [None, torch.ones(1, 3000, dtype=torch.bool)])
def test_a_long_sum_in_half_precision(mask: torch.Tensor | None) -> None:
    """3,000 times 100 is more than float16 holds; its mean is not."""
    found = mean(torch.full((1, 3000, 2), 100.0, dtype=torch.float16), mask)
    assert found.dtype == torch.float16
    assert found.tolist() == [[100.0, 100.0]]
