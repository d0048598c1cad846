"""Attention sum: by hand; a summary of another width is told."""

import pytest
import torch
from interact_cases import LN2, D, close

from regard.attend.interact.attention_sum import AttentionSum
from regard.errors import RegardError
from regard.types import Memory


def test_by_hand() -> None:
    question = Memory(D, D, None, torch.ones(1, 1, dtype=torch.float64))
    found = AttentionSum(1)(Memory(D, D), question)
    close(found.weights[0], torch.tensor([2 / 3, 1 / 3], dtype=torch.float64))
    close(found.affinity[0, :, 0], torch.tensor([LN2, 0.0], dtype=torch.float64))


def test_a_summary_of_another_width() -> None:
    states = torch.ones(1, 2, 4)
    with pytest.raises(RegardError, match="attention_sum: states of width 4 and a summary of another"):
        AttentionSum(4)(Memory(states, states), Memory(states, states, None, torch.ones(1, 8)))
