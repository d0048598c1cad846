"""Correct: 1 for the true label."""

import torch

from regard.predict.reward import Reward
from regard.predict.reward.correct import Correct


def test_by_hand() -> None:
    logits = torch.tensor([[2.0, 1.0], [2.0, 1.0], [0.0, 0.5]])
    assert Correct()(logits, torch.tensor([0, 1, 1])).tolist() == [1.0, 0.0, 1.0]
    assert isinstance(Correct(), Reward)
