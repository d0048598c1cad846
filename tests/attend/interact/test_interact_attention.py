"""Attention of the document to the question: by hand, with W = 1."""

import torch
from interact_cases import LN2, D, Q, close

from regard.attend.interact.attention import Attention
from regard.types import Memory


def test_by_hand() -> None:
    """Word 1 looks at [2/3, 1/3] of Q = [1, 0], word 2 at [1/2, 1/2]."""
    one = Attention(1, score="dot")
    found = one(Memory(D, D), Memory(Q, Q))
    close(found.values[0], torch.tensor([[LN2, 2 / 3], [0.0, 1 / 2]], dtype=torch.float64))
