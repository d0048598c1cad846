"""Argmax: all weight on the best key, whose value is fetched."""

import torch
from torch.testing import assert_close

from regard.attend.normalizer.argmax import Argmax


def test_a_choice_by_hand() -> None:
    scores = torch.tensor([[0.1, 3.0, -1.0], [2.0, 1.0, 5.0]])
    assert Argmax()(scores).choice.tolist() == [1, 2]
    # The best hidden, the second best is taken; a row with nothing visible has no weight anywhere.
    normalized = Argmax()(scores, torch.tensor([[True, False, True], [False, False, False]]))
    assert normalized.weights(torch.float32).tolist() == [[1.0, 0.0, 0.0], [0.0, 0.0, 0.0]]


def test_the_value_is_fetched_as_it_is() -> None:
    scores, values = torch.randn(2, 3, 4), torch.randn(2, 4, 5)
    mask = torch.rand(2, 1, 4) < 0.5
    mask[0], mask[1, 0, 0] = False, True
    normalized = Argmax()(scores, mask)
    answer = normalized.context(values)
    assert (answer[0] == 0).all()
    for j in range(3):
        assert torch.equal(answer[1, j], values[1, scores[1, j].masked_fill(~mask[1, 0], -9e9).argmax()])
    assert_close(normalized.weights(torch.float32) @ values, answer)


def test_only_the_values_learn() -> None:
    scores, values = torch.randn(1, 2, 4, requires_grad=True), torch.randn(1, 4, 5, requires_grad=True)
    normalized = Argmax()(scores)
    normalized.context(values).sum().backward()
    assert scores.grad is None
    assert values.grad is not None
    # A value gets one gradient for each query that chose it.
    assert normalized.choice is not None
    assert values.grad[0, :, 0].tolist() == torch.bincount(normalized.choice[0], minlength=4).tolist()


def test_low_scores_beat_hidden_ones() -> None:
    assert Argmax()(torch.tensor([0.0, -1e30]), torch.tensor([False, True])).choice.item() == 1
