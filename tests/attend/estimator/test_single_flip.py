"""Single flip: who is asked, a number worked by hand, and several at once."""

import torch
from torch.testing import assert_close

from estimator_cases import estimates, f64, made


def test_single_flip_by_hand() -> None:
    """Two tokens at l = 0, R = 3 z_1: the first is asked half of the time and then gets 2 · ¼ · 3, the second 0."""
    part = made("single_flip")
    logits = torch.zeros(1, 2000, 2, dtype=f64, requires_grad=True)
    gates = part.choose(logits, torch.ones(2000, 2, dtype=torch.bool), sides=1, copies=2)
    R = 3.0 * gates.chosen[0, :, 0]
    (slope,) = torch.autograd.grad((R * gates.score[0]).sum() / 2, logits)
    each = slope.view(2, 1000, 2).sum(0)
    asked = gates.chosen[0, :1000, 0] != gates.chosen[0, 1000:, 0]
    assert_close(each[:, 0], torch.where(asked, 1.5, 0.0).to(f64))
    assert not each[:, 1].any()
    assert 400 < asked.sum() < 600


def test_several_flips_are_less_noisy() -> None:
    few, many = (estimates(made("single_flip", flips=flips), 4000)[0] for flips in (1, 4))
    assert many.var(2).sum() < 0.5 * few.var(2).sum()
