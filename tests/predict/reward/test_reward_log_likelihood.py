"""LogLikelihood: how likely the true label was."""

from math import log

import pytest
import torch

from regard.predict.reward.log_likelihood import LogLikelihood


def test_by_hand() -> None:
    """Logits log 3 and 0 are chances of 3/4 and 1/4."""
    logits = torch.tensor([[log(3), 0.0]]).expand(2, 2)
    assert LogLikelihood()(logits, torch.tensor([0, 1])).tolist() == pytest.approx([log(0.75), log(0.25)])
