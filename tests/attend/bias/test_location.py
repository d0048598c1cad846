"""Location: a number by hand, and the same as a Markov bias of the product matrix."""

import pytest
import torch

from regard.attend.bias.location import Location
from regard.attend.bias.markov import Markov
from regard.types import Memory


def memory(keys: int) -> Memory:
    values = torch.zeros(1, keys, 2)
    return Memory(values, values)


def test_a_number_by_hand() -> None:
    """One filter [1, 2, 3] over the weights [0, 1, 0]: its windows give 3, 2 and 1, and U is [1, −1]."""
    bias = Location(hidden=2, k=1, filters=1)
    bias.F.data, bias.U.data = torch.tensor([[1.0, 2.0, 3.0]]), torch.tensor([[1.0], [-1.0]])
    terms = bias.terms(memory(3), 1, torch.tensor([[[0.0, 1.0, 0.0]]]))
    assert terms.keys is not None
    assert terms.keys[0].tolist() == [[3, -3], [2, -2], [1, -1]]


def test_it_is_a_markov_bias_of_low_rank() -> None:
    torch.manual_seed(1)
    one, other = Location(hidden=4, k=3, filters=2), Markov(hidden=4, k=3)
    one.U.data.normal_()
    other.W.data = (one.U @ one.F).detach()
    state = torch.rand(1, 2, 5)
    pairs = [part.terms(memory(5), 2, state).pairs for part in (one, other)]
    torch.testing.assert_close(pairs[0], pairs[1])
    assert torch.linalg.matrix_rank(other.W) == 2


def test_training_begins_with_the_score_alone_and_reaches_both_parts() -> None:
    bias = Location(hidden=4)
    state = torch.rand(1, 1, 5)
    terms = bias.terms(memory(5), 1, state).keys
    assert terms is not None
    assert not terms.any()
    terms.sum().backward()
    assert bias.U.grad is not None
    assert bias.U.grad.any()
    assert bias.F.grad == pytest.approx(torch.zeros_like(bias.F))  # once U has moved, so do the filters
