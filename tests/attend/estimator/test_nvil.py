"""NVIL: a baseline that is learned, and rewards of one scale."""

import torch
from torch.testing import assert_close

from estimator_cases import f64
from regard.attend.estimator.nvil import Nvil
from regard.attend.reinforce import Reinforce


def test_by_hand() -> None:
    """b(x) = 2 x: R − b = 1 − 2 = −1, with a variance of 4 the score counts ½; b learns by its squared error, 1. The
    entropy of 0.7 is worth 0.1 of it."""
    part = Nvil(size=1).double().eval()
    with torch.no_grad():
        part.baseline.value.weight.fill_(2.0)  # type: ignore[union-attr]
        part.baseline.value.bias.zero_()  # type: ignore[union-attr]
        part.baseline.variance.fill_(4.0)
    score, R, x = (torch.tensor(values, dtype=f64) for values in ([-0.3], [1.0], [[1.0]]))
    reinforce = Reinforce(None, bonus=0.1)
    found = part.loss(score, R, reinforce, entropy=torch.tensor([0.7], dtype=f64), summary=x)
    assert_close(found, torch.tensor([0.5 * -0.3 + 1 - 0.07], dtype=f64))
