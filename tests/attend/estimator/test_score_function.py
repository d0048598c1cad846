"""Score function: what `reinforce` says, with as many readings as it has samples."""

import torch
from torch.testing import assert_close

from estimator_cases import f64
from regard.attend.estimator.score_function import ScoreFunction
from regard.attend.reinforce import Reinforce


def test_it_is_reinforce() -> None:
    """R = 1 and 3 for two readings: each is measured by the other, so −(1 − 3) · log ¼ and −(3 − 1) · log ½."""
    part, reinforce = ScoreFunction(samples=2), Reinforce(None, baseline="others", bonus=0.0)
    assert part.copies == 2
    score, R = torch.tensor([0.25, 0.5], dtype=f64).log(), torch.tensor([1.0, 3.0], dtype=f64)
    found = part.loss(score, R, reinforce, entropy=torch.zeros(2, dtype=f64), copies=2)
    assert_close(found, torch.tensor([2.0, -2.0], dtype=f64) * score)
