"""Scaled dot: e = q·k / √d."""

import pytest
import torch
from torch.testing import assert_close

from regard.attend.score.scaled_dot import ScaledDot
from regard.errors import RegardError


def test_a_number_by_hand() -> None:
    score = ScaledDot(query=4, key=4)
    q = torch.tensor([[[1.0, 2.0, 0.0, -1.0]]])
    k = torch.tensor([[[3.0, 4.0, 9.0, 1.0], [0.0, 0.0, 1.0, 0.0]]])
    # (3 + 8 + 0 − 1) / √4 = 5;  0 / √4 = 0
    assert_close(score.scores(score.project(q), score.prepare(k)), torch.tensor([[[5.0, 0.0]]]))


def test_the_spread_of_scores_does_not_grow_with_the_width() -> None:
    for width in (4, 64, 1024):
        score = ScaledDot(query=width, key=width)
        scores = score.scores(torch.randn(1, 60, width), torch.randn(1, 60, width))
        assert 0.85 < scores.std() < 1.15  # the standard error of a spread of 3600 numbers is about 0.012


def test_sizes_must_agree() -> None:
    with pytest.raises(RegardError, match="scaled_dot got queries of size 3 and keys of size 4"):
        ScaledDot(query=3, key=4)
