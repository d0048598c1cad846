"""Both directions in one network: the agreement of their looks by hand, its limits, its gradients."""

import pytest
import torch
from torch import Tensor

from regard.errors import RegardError
from regard.networks.both import agreement
from regard.types import Look, Sequences


def seen(weights: Tensor) -> Look:
    return Look(torch.zeros(len(weights), weights.shape[-2], 1), compute_weights=lambda: weights)


def long(*lengths: int) -> Sequences:
    return Sequences.pad([[5] * length for length in lengths])


def test_a_number_by_hand() -> None:
    """Three source tokens, two target tokens; 0.5·1 + 0.5·0.5 of the first, 1·0.75 of the second."""
    there = torch.tensor([[[0.5, 0.5, 0.0], [0.0, 0.0, 1.0]]])
    back = torch.tensor([[[1.0, 0.0], [0.5, 0.5], [0.25, 0.75]]])
    assert agreement(seen(there), seen(back), long(3), long(2)).tolist() == [0.5 + 0.25 + 0.75]
    assert float(torch.trace(there[0] @ back[0])) == 1.5


def test_it_is_at_most_the_shorter_length() -> None:
    torch.manual_seed(1)
    for i, j in [(2, 5), (5, 2), (4, 4), (1, 3)]:
        for sharp in (1.0, 30.0):
            there, back = (torch.randn(50, j, i) * sharp).softmax(-1), (torch.randn(50, i, j) * sharp).softmax(-1)
            found = agreement(seen(there), seen(back), long(*[i] * 50), long(*[j] * 50))
            assert (found >= 0).all()
            assert (found <= min(i, j) + 1e-4).all()
        same = torch.eye(max(i, j))[:j, :i][None]  # everyone who has a partner looks at it
        assert float(agreement(seen(same), seen(same.transpose(1, 2)), long(i), long(j))) == min(i, j)


def test_padding_and_heads() -> None:
    torch.manual_seed(1)
    there, back = torch.rand(2, 2, 3, 4), torch.rand(2, 2, 4, 3)
    x, y = long(4, 2), long(3, 1)
    found = agreement(seen(there), seen(back), x, y)
    alone = agreement(seen(there[1:, :, :1, :2]), seen(back[1:, :, :2, :1]), long(2), long(1))
    torch.testing.assert_close(found[1:], alone)
    flat = agreement(seen(there.mean(1)), seen(back.mean(1)), x, y)
    torch.testing.assert_close(found, flat)
    with pytest.raises(RegardError, match="merges tokens"):
        agreement(seen(there[..., :2]), seen(back), x, y)


def test_gradients() -> None:
    given = [torch.rand(*shape, dtype=torch.float64, requires_grad=True) for shape in ((2, 3, 4), (2, 4, 3))]
    torch.autograd.gradcheck(lambda a, b: agreement(seen(a), seen(b), long(4, 2), long(3, 1)), given)
