"""Dot: e = q·k."""

import pytest
import torch
from torch.testing import assert_close

from regard.attend.attention import Attention
from regard.attend.score.dot import Dot
from regard.errors import RegardError


def test_a_number_by_hand() -> None:
    score = Dot(query=2, key=2)
    q = torch.tensor([[[1.0, 2.0]]])
    k = torch.tensor([[[3.0, 4.0], [-1.0, 0.5]]])
    # 1·3 + 2·4 = 11;  1·(−1) + 2·0.5 = 0
    assert_close(score.scores(score.project(q), score.prepare(k)), torch.tensor([[[11.0, 0.0]]]))


def test_it_is_linear_in_query_and_in_keys() -> None:
    score = Dot(query=4, key=4)
    q, other, k = torch.randn(3, 2, 5, 4).unbind()
    assert_close(score.scores(2 * q + other, k), 2 * score.scores(q, k) + score.scores(other, k))
    assert_close(score.scores(q, k), score.scores(k, q).transpose(1, 2))


def test_it_has_nothing_to_learn() -> None:
    assert list(Dot(query=4, key=4).parameters()) == []


def test_sizes_must_agree() -> None:
    with pytest.raises(RegardError, match=r"dot got queries of size 3 and keys of size 4.*bilinear or additive"):
        Dot(query=3, key=4)


def test_no_query_is_an_error_in_one_line() -> None:
    attention = Attention(Dot(query=2, key=2))
    with pytest.raises(RegardError, match="Dot got no query") as error:
        attention(None, attention.prepare(torch.randn(1, 3, 2)))
    assert "\n" not in str(error.value)
