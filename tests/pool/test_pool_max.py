"""Max: feature by feature, of what is there."""

import pytest
import torch

from regard.pool.max import Max
from regard.types import Memory


def test_by_hand() -> None:
    """Of 1 and 3, and of −5 and −4; neither the padding's 9 nor a 0 in its place is larger."""
    values = torch.tensor([[[1.0, -5.0], [3.0, -4.0], [9.0, 9.0]]], requires_grad=True)
    pooled = Max(inputs=2)(Memory(values, values, torch.tensor([[True, True, False]])))
    assert pooled.vector.tolist() == [[3.0, -4.0]]
    pooled.vector.sum().backward()
    assert values.grad is not None
    assert values.grad.tolist() == [[[0.0, 0.0], [1.0, 1.0], [0.0, 0.0]]]


def test_a_token_weighs_what_is_taken_from_it() -> None:
    """Of three features, two are the second token's and one is the first's; the padding has none."""
    values = torch.tensor([[[1.0, 7.0, 0.0], [3.0, 6.0, 2.0], [9.0, 9.0, 9.0]], [[9.0] * 3] * 3])
    mask = torch.tensor([[True, True, False], [False] * 3])
    look = Max(inputs=3)(Memory(values, values, mask)).look
    assert look is not None
    torch.testing.assert_close(look.by_key, torch.tensor([[[1 / 3, 2 / 3, 0.0]], [[0.0] * 3]]))
    torch.testing.assert_close((look.weights[:, 0] * values).sum(1), look.context[:, 0])


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_the_lowest_number_of_all_is_still_a_number(dtype: torch.dtype) -> None:
    lowest = torch.finfo(dtype).min
    values = torch.tensor([[[lowest], [0.0]]], dtype=dtype, requires_grad=True)
    vector = Max(inputs=1)(Memory(values, values, torch.tensor([[True, False]]))).vector
    assert vector.item() == lowest
    vector.sum().backward()
    assert values.grad is not None
    assert values.grad.flatten().tolist() == [1.0, 0.0]
