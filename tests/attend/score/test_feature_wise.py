"""Feature-wise: an score for each feature."""

import math

import pytest
import torch
from torch.testing import assert_close

from regard.attend.attention import Attention
from regard.attend.normalizer.sample import Sample
from regard.attend.score.feature_wise import FeatureWise, feature_wise
from regard.errors import RegardError
from regard.types import Look


def test_a_number_worked_by_hand() -> None:
    # Feature 1: 5·tanh((1 + 4)/5) = 5·tanh(1) = 3.8079707797788…; feature 2: 5·tanh((0.5 − 0.5)/5) = 0.
    scores = feature_wise(torch.tensor([[[1.0, 0.5]]]), torch.tensor([[[4.0, -0.5]]]))
    assert_close(scores, torch.tensor([[[[5 * math.tanh(1.0), 0.0]]]]))


def test_every_feature_looks_for_itself() -> None:
    """Two keys, two features: feature 1 is drawn to the first key, feature 2 to the second."""
    score = FeatureWise(query=2, key=2, value=2, c=50.0)
    with torch.no_grad():
        score.W_q.weight.zero_()
        score.W_q.bias.zero_()
        score.W_k.weight.copy_(torch.eye(2) * 100)
    keys = torch.tensor([[[1.0, -1.0], [-1.0, 1.0]]])
    look = Attention(score)(
        torch.zeros(1, 1, 2), Attention(score).prepare(keys, torch.tensor([[[3.0, 4.0], [5.0, 6.0]]]))
    )
    assert_close(look.context, torch.tensor([[[3.0, 6.0]]]))
    assert_close(look.weights, torch.tensor([[[[1.0, 0.0], [0.0, 1.0]]]]))
    assert_close(look.by_key, torch.tensor([[[0.5, 0.5]]]))


def test_scores_stay_within_c() -> None:
    scores = feature_wise(1e4 * torch.randn(2, 3, 4), 1e4 * torch.randn(2, 5, 4), c=5.0)
    assert scores.abs().max() <= 5


def test_looks_of_several_steps_join_on_the_queries() -> None:
    attention = Attention(FeatureWise(query=3, key=3, value=3))
    memory = attention.prepare(torch.randn(2, 5, 3))
    query = torch.randn(2, 4, 3)
    joined = Look.join([attention(query[:, i : i + 1], memory) for i in range(4)])
    assert joined.weights.shape == (2, 4, 5, 3)
    assert_close(joined.weights, attention(query, memory).weights)


def test_choices_of_the_features_are_one_choice_of_the_query() -> None:
    attention = Attention(FeatureWise(query=3, key=3, value=3), Sample()).train()
    look = attention(torch.randn(2, 4, 3), attention.prepare(torch.randn(2, 5, 3)))
    assert look.log_prob is not None
    assert look.log_prob.shape == (2, 4)
    soft = Attention(attention.score)(torch.randn(2, 4, 3), attention.prepare(torch.randn(2, 5, 3)))
    assert soft.weights.shape == look.weights.shape


def test_c_must_be_positive() -> None:
    with pytest.raises(RegardError, match="c: got 0"):
        FeatureWise(query=2, key=2, value=2, c=0.0)
